// XMLHttpRequest, a redirect on the way, and a request that its server would be asked about first (CORS preflight).
const root = document.getElementById("root");
const old = new XMLHttpRequest();
old.onload = () => root.append(make(h("p", {}, `By the old way: ${JSON.parse(old.response).figure}`)));
old.open("GET", "figure.json");
old.send();
fetch("moved.json").then((answer) => answer.json()).then((found) => root.append(make(h("p", {}, `After a redirect: ${found.figure}`))));
fetch("http://api.test/data/figure.json", { headers: { "X-Wanted": "figure" } })
  .then((answer) => answer.json())
  .then((found) => root.append(make(h("p", {}, `From elsewhere: ${found.figure}`))));
