const root = document.getElementById("root");
const route = (path, topic) => {
  history.pushState({}, "", path);
  show(root, h("main", {}, h("h1", {}, topic), ...sentences(topic, 5).map((text) => h("p", {}, text))));
};
route("/routes/first", "rivers");
setTimeout(() => route("/routes/second", "valleys"), 100);
