onconnect = (event) => fetch("found.json").then((answer) => answer.json()).then((found) => event.ports[0].postMessage(found.what));
