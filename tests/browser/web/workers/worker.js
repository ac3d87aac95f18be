fetch("found.json").then((answer) => answer.json()).then((found) => postMessage(found.what));
