// Keeps marked places and charts of a page up to date. One stream for a browser: the tab that holds the lock
// reads it, and hands each message to the others. Texts are set as texts, never as markup.
(() => {
  "use strict";
  const POINTS = 120;
  const LIVE_S = 600;
  const channel = "BroadcastChannel" in window ? new BroadcastChannel("tiptoe") : null;
  const charts = [];

  const show = (message) => {
    const trouble = document.getElementById("trouble");
    if (trouble) {
      trouble.hidden = !message.trouble;
      trouble.querySelector("[data-says]").textContent = message.trouble || "";
    }
    showNotes(message.notes || []);
    if (!message.texts) return;
    for (const place of document.querySelectorAll("[data-live]")) {
      const text = message.texts[place.dataset.live];
      if (text !== undefined && place.textContent !== text) place.textContent = text;
    }
    for (const place of document.querySelectorAll("[data-tone]")) {
      const tone = message.phases[place.dataset.tone];
      if (tone) place.className = `tag ${tone}`;
    }
    for (const bar of document.querySelectorAll("[data-share]")) {
      const share = message.shares[bar.dataset.share];
      if (share === undefined) continue;
      bar.lastElementChild.setAttribute("width", share);
      bar.setAttribute("aria-label", `${Math.floor(share)} % of its budget of pages`);
    }
    for (const chart of charts) chart.add(message.at, message.points[chart.series]);
    fill("[data-requests]", message.requests.map(row));
    fill("[data-waits]", message.waits.length ? message.waits.map(wait) : [nothing("No host has anything queued.")]);
  };

  // Rows that somebody points at, or has reached by keyboard, stay as they are.
  const fill = (name, rows) => {
    const list = document.querySelector(name);
    if (list && !list.matches(":hover, :focus-within")) list.replaceChildren(...rows);
  };

  // What is said already is not said again: a screen reader would read it every second.
  let said = null;
  const showNotes = (notes) => {
    const place = document.querySelector("[data-notes]");
    const says = JSON.stringify(notes);
    if (!place || says === said) return;
    said = says;
    place.replaceChildren(...notes.map(([tone, point, remedy]) => {
      const note = document.createElement("div");
      const strong = document.createElement("strong");
      const rest = document.createElement("span");
      note.className = `note ${tone}`;
      strong.textContent = point;
      rest.textContent = remedy;
      note.append(strong, " ", rest);
      return note;
    }));
  };

  const cell = (text, name, of) => {
    const made = document.createElement("td");
    if (name) made.className = name;
    made.textContent = text;
    if (of) made.dataset.is = of;
    return made;
  };

  const link = (text, path, key, value = text) => {
    const made = document.createElement("a");
    made.href = `${path}?${new URLSearchParams({ [key]: value })}`;
    made.textContent = text;
    return made;
  };

  const wait = ([because, hosts, first, key]) => {
    const made = document.createElement("tr");
    const what = cell("");
    what.append(link(because, "/hosts", "waits_for", key));
    made.append(what, cell(hosts, "n"), cell(first, "nowrap"));
    return made;
  };

  const nothing = (text) => {
    const made = document.createElement("tr");
    const only = cell(text, "soft");
    only.colSpan = 3;
    made.append(only);
    return made;
  };

  const row = (cells) => {
    const [at, host, kind, ending, ms, bytes, url, tone] = cells;
    const made = document.createElement("tr");
    const tag = document.createElement("span");
    tag.className = `tag ${tone}`;
    tag.textContent = ending;
    const ended = cell("");
    ended.append(tag);
    const where = cell("");
    where.append(link(host, "/host", "name"));
    const page = cell("", "url");
    page.append(link(url, "/url", "u"));
    made.append(cell(at, "mono"), ended, where, cell(kind), cell(ms, "n", "ms"), cell(bytes, "n"), page);
    return made;
  };

  class Chart {
    constructor(place) {
      this.place = place;
      this.series = place.dataset.chart;
      this.which = Number(place.dataset.which);
      this.data = [[], []];
      this.range = LIVE_S;
      this.draw();
      this.load();
    }
    // A chart of minutes goes on second by second; a longer one is asked for anew at each of its steps.
    load() {
      this.loadedAt = Date.now();
      const asked = this.range;
      fetch(`/history?${new URLSearchParams({ range: asked, ...(this.place.dataset.crawl ? { crawl: this.place.dataset.crawl } : {}) })}`)
        .then((answer) => (answer.ok ? answer.json() : { at: [], rates: [] }))
        .then((past) => {
          if (asked !== this.range) return;
          if (asked !== LIVE_S) this.data = [[], []];
          const began = this.data[0][0] ?? Infinity;
          const at = past.at.filter((moment) => moment < began);
          this.data = [[...at, ...this.data[0]], [...past.rates.slice(0, at.length).map((each) => each[this.which]), ...this.data[1]]];
          this.plot.setData(this.data);
        })
        .catch(() => {});
    }
    draw() {
      const style = getComputedStyle(document.documentElement);
      const colour = style.getPropertyValue(this.which === 1 ? "--chart-2" : "--chart-1").trim();
      const soft = style.getPropertyValue("--soft").trim();
      const line = style.getPropertyValue("--line").trim();
      const axis = { stroke: soft, grid: { stroke: line, width: 1 }, ticks: { show: false }, font: "12px system-ui" };
      const clock = (moment, every) => new Date(moment * 1000).toISOString().slice(11, every < 60 ? 19 : 16); // UTC, as all times here
      const short = (value) => value >= 1e6 ? `${+(value / 1e6).toFixed(1)} M` : value >= 1e3 ? `${+(value / 1e3).toFixed(1)} k` : `${+value.toFixed(2)}`;
      this.plot = new uPlot({
        width: this.place.clientWidth || 300,
        height: 150,
        legend: { show: false },
        cursor: { show: false },
        scales: { x: { range: (_, low, high) => low !== null && low === high ? [low - 60, high] : [low, high] }, y: { range: (_, low, high) => [0, high > 0 ? high * 1.15 : 1] } },
        axes: [{ ...axis, space: 76, size: 28, values: (_, moments, __, ___, every) => moments.map((each) => clock(each, every)) }, { ...axis, size: 52, values: (_, values) => values.map(short) }],
        series: [{}, { stroke: colour, width: 2, fill: `${colour}22`, points: { show: false } }],
      }, this.data, this.place);
    }
    add(at, point) {
      if (this.range !== LIVE_S) {
        if (Date.now() - this.loadedAt >= this.range * 1000 / POINTS) this.load();
        return;
      }
      if (!point) return;
      this.data[0].push(at);
      this.data[1].push(point[this.which]);
      while (this.data[0].length > POINTS * 5) this.data.forEach((each) => each.shift());
      this.plot.setData(this.data);
    }
    show(range) {
      this.range = range;
      this.data = [[], []];
      this.plot.setData(this.data);
      this.load();
    }
    resize() { this.plot.setSize({ width: this.place.clientWidth, height: 150 }); }
    redraw() { this.plot.destroy(); this.draw(); }
  }

  const RETRY_MS = 5000;
  const listen = () => {
    open();
    return new Promise(() => {});
  };

  // A browser tries again by itself where a connection breaks, and never where an answer was no stream: a proxy
  // without a server behind it, a session that has ended, too many viewers.
  const open = () => {
    const source = new EventSource("/stream");
    source.onmessage = (event) => {
      const message = JSON.parse(event.data);
      show(message);
      if (channel) channel.postMessage(message);
    };
    source.onerror = async () => {
      const trouble = source.readyState === EventSource.CLOSED ? await why() : "The dashboard does not answer. This page tries again by itself.";
      show({ trouble });
      if (channel) channel.postMessage({ trouble });
      if (source.readyState === EventSource.CLOSED) setTimeout(open, RETRY_MS);
    };
  };

  const why = async () => {
    const status = await fetch("/url", { method: "HEAD" }).then((answer) => answer.status, () => 0);
    if (status === 401) return "Your session has ended. Reload this page to log in.";
    return "The dashboard sends nothing to this page. It tries again by itself.";
  };

  const start = () => {
    if (!document.querySelector("[data-live], [data-chart], [data-requests]")) return;
    if (window.uPlot) for (const place of document.querySelectorAll("[data-chart]")) charts.push(new Chart(place));
    for (const choice of document.querySelectorAll("[data-range]")) {
      choice.addEventListener("change", () => charts.forEach((chart) => chart.show(Number(choice.value))));
    }
    addEventListener("resize", () => charts.forEach((chart) => chart.resize()));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => charts.forEach((chart) => chart.redraw()));
    if (channel) channel.onmessage = (event) => show(event.data);
    if (channel && navigator.locks) navigator.locks.request("tiptoe-stream", listen);
    else listen();
  };

  // Changes of a crawl join their table as they come. A browser names the last one that it had, and goes on behind it.
  const join = (table) => {
    const source = new EventSource(table.dataset.changes);
    source.addEventListener("change", (event) => {
      const { at, change, url, title, why } = JSON.parse(event.data);
      const row = table.insertRow(0);
      for (const text of [at.slice(0, 19).replace("T", " "), change, url, title, why]) row.insertCell().textContent = text ?? "";
      if (table.rows.length > 500) table.deleteRow(-1);
    });
    source.addEventListener("ended", () => source.close());
  };

  // A table that is wider than its place is scrolled by keyboard, too.
  const reach = () => {
    for (const place of document.querySelectorAll(".scroll")) {
      if (place.scrollWidth > place.clientWidth) place.tabIndex = 0;
      else place.removeAttribute("tabindex");
    }
  };

  addEventListener("DOMContentLoaded", () => {
    start();
    for (const table of document.querySelectorAll("[data-changes]")) join(table);
    reach();
    document.querySelector(".side [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
    addEventListener("resize", reach);
    document.addEventListener("htmx:afterSettle", reach);
    for (const place of document.querySelectorAll("[data-print]")) place.addEventListener("click", () => print());
    const again = document.querySelector("[data-again]");
    if (again) setTimeout(() => location.reload(), 5000);
  });
})();
