fetch("products.json").then((answer) => answer.json()).then((products) => {
  const item = (product) => h("li", {}, h("a", { href: `/react/product-${product.id}` }, product.name), ` costs ${product.price}`);
  show(document.getElementById("root"), h("main", {}, h("h1", {}, "Lamps of the north"), h("ul", {}, products.map(item)), h("p", {}, ...sentences("lamps", 4))));
  document.title = `Shop: ${products.length} lamps`;
});
