// Five parts of ten entries in a box that scrolls by itself; the next one is fetched when its end comes into view.
const root = document.getElementById("root");
let part = 0, isLoading = false;
const more = async () => {
  if (isLoading || part >= 5) return;
  isLoading = true;
  part += 1;
  const entries = await (await fetch(`/scroll/part-${part}.json`)).json();
  for (const entry of entries) root.append(make(h("p", { style: "height: 150px" }, entry)));
  isLoading = false;
};
root.addEventListener("scroll", () => { if (root.scrollTop + root.clientHeight > root.scrollHeight - 50) more(); });
more();
