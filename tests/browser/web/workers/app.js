const root = document.getElementById("root");
const tell = (where) => (message) => root.append(make(h("p", {}, `${where}: ${message.data}`)));
new Worker("worker.js").onmessage = tell("A worker found");
const shared = new SharedWorker("shared.js");
shared.port.onmessage = tell("A shared worker found");
