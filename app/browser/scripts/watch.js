// Runs in a world of its own in every document: the page cannot see it, nor change what it calls.
// It reads through the prototypes' getters, as forms and images can take a name such as `documentElement`.
(() => {
  const getter = (type, name) => Object.getOwnPropertyDescriptor(type.prototype, name).get;
  const rootOf = getter(Document, "documentElement");
  const textOf = getter(Node, "textContent");
  const nameOf = getter(Node, "nodeName");
  const childrenOf = getter(Node, "childNodes");
  const baseOf = getter(Node, "baseURI");
  const heightOf = getter(Element, "scrollHeight");
  const shownOf = getter(Element, "clientHeight");
  const setTop = Object.getOwnPropertyDescriptor(Element.prototype, "scrollTop").set;
  const shadowOf = getter(Element, "shadowRoot");
  const innerOf = getter(HTMLIFrameElement, "contentDocument");
  const { getAttribute, hasAttribute, setAttribute, querySelectorAll } = Element.prototype;
  const { appendChild } = Node.prototype;
  const { importNode } = Document.prototype;
  const { assignedNodes } = HTMLSlotElement.prototype;

  const DEPTH_MOST = 3; // frames within frames
  const BOX_LOOKS_MOST = 2000; // elements that are asked whether they scroll
  const BOXES_MOST = 5;
  const FRAMES_MS = 3000; // at most, until two frames are drawn
  const SHORT = 200; // characters: less than that is hardly a page yet

  let changedAt = performance.now();
  new MutationObserver(() => { changedAt = performance.now(); })
    .observe(document, { childList: true, subtree: true, characterData: true });

  const textLength = () => { const root = rootOf.call(document); return root ? textOf.call(root).length : 0; };

  // How much of it a person would read, scripts and styles left out; counting stops at what is enough.
  const shown = () => {
    const root = rootOf.call(document);
    if (!root) return 0;
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT, (node) =>
      /^(SCRIPT|STYLE|HEAD|NOSCRIPT|TEMPLATE)$/.test(nameOf.call(node)) ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_ACCEPT);
    let found = 0;
    while (found < SHORT && walker.nextNode()) {
      if (walker.currentNode.nodeType === 3) found += walker.currentNode.data.trim().length;
    }
    return found;
  };

  const rest = () => {
    const found = shown();
    const root = rootOf.call(document);
    return {
      still_ms: performance.now() - changedAt,
      is_loaded: document.readyState === "complete",
      is_parsed: document.readyState !== "loading",
      is_short: found < SHORT,
      is_blank: found === 0 && !(root && needsCopy(root)), // what stands in shadow roots and frames is not counted
      text: textLength(),
    };
  };

  // Boxes that scroll by themselves, and are a large part of the page: apps often scroll one instead of the document.
  const boxes = () => {
    const found = [];
    const walker = document.createTreeWalker(rootOf.call(document), NodeFilter.SHOW_ELEMENT);
    for (let n = 0; n < BOX_LOOKS_MOST && found.length < BOXES_MOST && walker.nextNode(); n++) {
      const element = walker.currentNode;
      const shown = shownOf.call(element);
      if (shown < innerHeight / 2 || heightOf.call(element) <= shown + 8) continue;
      if (/auto|scroll/.test(getComputedStyle(element).overflowY)) found.push(element);
    }
    return found;
  };

  // Whether there is an end to scroll to. It answers when the page has been told: its listeners run with its frames.
  const scroll = async () => {
    const page = document.scrollingElement || rootOf.call(document);
    if (!page) return false;
    const ends = boxes();
    for (const box of ends) setTop.call(box, heightOf.call(box));
    const isLong = page.scrollHeight > innerHeight + 8;
    if (isLong) scrollTo(0, page.scrollHeight);
    if (!isLong && ends.length === 0) return false;
    await new Promise((done) => {
      requestAnimationFrame(() => requestAnimationFrame(done));
      setTimeout(done, FRAMES_MS);
    });
    return true;
  };

  const absolute = (copy, source) => {
    for (const name of ["href", "src"]) {
      if (!hasAttribute.call(copy, name)) continue;
      try {
        setAttribute.call(copy, name, new URL(getAttribute.call(source, name), baseOf.call(source)).href);
      } catch { /* no URL: it stays as it is */ }
    }
  };

  // A copy of a node as a person sees it: what stands in shadow roots and frames stands in its place.
  const copyOf = (node, inert, depth) => {
    const copy = importNode.call(inert, node, false);
    if (node.nodeType !== 1) return copy;
    if (depth) absolute(copy, node);
    const shadow = shadowOf.call(node);
    const isSlot = nameOf.call(node) === "SLOT" && node.getRootNode() instanceof ShadowRoot;
    const assigned = isSlot ? assignedNodes.call(node, { flatten: true }) : [];
    for (const child of assigned.length ? assigned : childrenOf.call(shadow || node)) {
      appendChild.call(copy, copyOf(child, inert, depth));
      if (nameOf.call(child) === "IFRAME") inline(child, copy, inert, depth + 1);
    }
    return copy;
  };

  const inline = (frame, parent, inert, depth) => {
    const inner = depth <= DEPTH_MOST && innerOf.call(frame);
    const body = inner && inner.URL !== "about:blank" ? inner.querySelector("body") : null;
    if (!body) return;
    const box = inert.createElement("div");
    setAttribute.call(box, "data-frame", inner.URL);
    for (const child of childrenOf.call(body)) {
      appendChild.call(box, copyOf(child, inert, depth));
      if (nameOf.call(child) === "IFRAME") inline(child, box, inert, depth + 1);
    }
    appendChild.call(parent, box);
  };

  const needsCopy = (root) => {
    for (const element of querySelectorAll.call(root, "*")) {
      if (shadowOf.call(element) || (nameOf.call(element) === "IFRAME" && innerOf.call(element))) return true;
    }
    return false;
  };

  const outer = getter(Element, "outerHTML");
  const serialised = (root) => {
    if (!needsCopy(root)) return outer.call(root);
    try {
      return outer.call(copyOf(root, document.implementation.createHTMLDocument(""), 0));
    } catch (error) {
      if (error instanceof RangeError) return outer.call(root); // nested more deeply than the stack is
      throw error;
    }
  };

  // Connections that the browser was told to open ahead. No event tells of them: they are counted by their elements.
  const { querySelectorAll: findAll } = Document.prototype;
  const hints = () => findAll.call(document, "link[rel~=preconnect i][href], link[rel~=dns-prefetch i][href]").length;

  // most: characters
  const read = (most) => {
    const root = rootOf.call(document);
    const html = root ? serialised(root) : "";
    const doctype = document.doctype ? "<!DOCTYPE html>" : "";
    return { html: doctype + html.slice(0, most), is_cut: html.length > most, url: document.URL, title: document.title, hints: hints() };
  };

  // The body of a frame of another origin, which the page's own world cannot see.
  const readFrame = (most) => {
    const body = document.querySelector("body");
    const box = document.implementation.createHTMLDocument("").createElement("div");
    if (body) appendChild.call(box, copyOf(body, box.ownerDocument, 1));
    const inner = box.querySelector("body");
    return { html: inner ? inner.innerHTML.slice(0, most) : "", url: document.URL, hints: hints() };
  };

  globalThis.tiptoe = { rest, scroll, read, readFrame };
})();
