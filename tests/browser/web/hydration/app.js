const data = JSON.parse(document.getElementById("__DATA__").textContent);
show(document.getElementById("root"), h("article", {}, h("h1", {}, data.heading), ...sentences(data.topic, 5).map((text) => h("p", {}, text))));
