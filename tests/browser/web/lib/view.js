// A client-side renderer as React's is used: a tree of plain objects becomes the content of one root.
const h = (tag, props, ...children) => ({ tag, props: props || {}, children });
const make = (node) => {
  if (typeof node === "string") return document.createTextNode(node);
  const element = document.createElement(node.tag);
  for (const [name, value] of Object.entries(node.props)) element.setAttribute(name, value);
  for (const child of node.children.flat()) element.append(make(child));
  return element;
};
const show = (root, node) => root.replaceChildren(make(node));
const sentences = (topic, n) =>
  Array.from({ length: n }, (_, i) => `Sentence ${i + 1} about ${topic}, long enough to be read as prose by anybody.`);
