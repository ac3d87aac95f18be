// Runs before the page's own scripts, in their world: roads that no interception sees fail at once, and are counted.
// It only informs. Where a page gets round it, there is still no network.
(() => {
  const report = globalThis.__tiptoe_report;
  delete globalThis.__tiptoe_report;
  if (!report) return;
  const refused = (reason, name) => {
    report(reason);
    return new DOMException("not available", name);
  };
  const closed = class { constructor() { throw refused("websocket", "NotSupportedError"); } };
  for (const name of ["RTCPeerConnection", "webkitRTCPeerConnection", "WebTransport"]) {
    if (name in globalThis) Object.defineProperty(globalThis, name, { value: closed, configurable: true, writable: true });
  }
  // Dialogs are answered at once, as if somebody dismissed them: a loop of real ones could not be interrupted.
  for (const [name, answer] of [["alert", undefined], ["confirm", false], ["prompt", null], ["print", undefined]]) {
    globalThis[name] = () => answer;
  }
  // A closed shadow root is a part of the page like any other, and could not be read.
  const { attachShadow } = Element.prototype;
  Element.prototype.attachShadow = function (init) {
    return attachShadow.call(this, { ...init, mode: init && init.mode === "closed" ? "open" : init && init.mode });
  };
  if (globalThis.ServiceWorkerContainer) {
    ServiceWorkerContainer.prototype.register = () => Promise.reject(refused("service worker", "SecurityError"));
  }
})();
