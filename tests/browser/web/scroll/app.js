// Five parts of ten entries; the next one is fetched when the end comes into view.
const root = document.getElementById("root");
const end = document.createElement("div");
root.after(end);
let part = 0, isLoading = false;
new IntersectionObserver(async ([seen]) => {
  if (!seen.isIntersecting || isLoading || part >= 5) return;
  isLoading = true;
  part += 1;
  const entries = await (await fetch(`part-${part}.json`)).json();
  for (const entry of entries) root.append(make(h("p", { style: "height: 150px" }, entry)));
  isLoading = false;
}, { rootMargin: "50px" }).observe(end);
