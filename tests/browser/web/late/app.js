setTimeout(() => show(document.getElementById("root"), h("p", {}, "Text that came after more than a second.")), 1200);
