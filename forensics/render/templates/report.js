"use strict";
(() => {
  const byId = (id) => document.getElementById(id);

  // Charts: colours are CSS variables, so that they follow the scheme.
  const resolved = (value, style) => {
    if (typeof value === "string") {
      return /^var\(--[a-z-]+\)$/.test(value) ? style.getPropertyValue(value.slice(4, -1)).trim() : value;
    }
    if (Array.isArray(value)) return value.map((item) => resolved(item, style));
    if (value && typeof value === "object") {
      return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, resolved(item, style)]));
    }
    return value;
  };
  const draw = () => {
    if (typeof Plotly === "undefined") return;
    const style = getComputedStyle(document.documentElement);
    for (const plot of document.querySelectorAll(".plot")) {
      const figure = resolved(JSON.parse(byId(plot.dataset.figure).textContent), style);
      plot.parentElement.classList.add("drawn");
      Plotly.react(plot, figure.data, figure.layout, { displayModeBar: false, responsive: true }).catch(() => {
        plot.parentElement.classList.remove("drawn");
      });
    }
  };
  draw();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);

  // Paper: everything unfolded, then as it was.
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")];
    for (const details of opened) details.open = true;
  });
  addEventListener("afterprint", () => {
    for (const details of opened) details.open = false;
    opened = [];
  });

  // The filter over the worst orders; its state is in the address.
  const form = document.querySelector(".filter");
  if (!form) return;
  const text = byId("q");
  const cause = byId("cause");
  const bodies = [...document.querySelectorAll(".orders tbody")];
  const contents = bodies.map((body) => body.textContent.toLowerCase());
  const apply = () => {
    const wanted = text.value.trim().toLowerCase();
    let shown = 0;
    bodies.forEach((body, i) => {
      const causes = body.dataset.cause.split(" ");
      body.hidden = !(contents[i].includes(wanted) && (!cause.value || causes.includes(cause.value)));
      shown += body.hidden ? 0 : 1;
    });
    const filtered = wanted || cause.value;
    byId("hits").textContent = filtered ? `${shown} of the ${bodies.length} orders shown here` : "";
  };
  const restore = () => {
    const [place, query] = location.hash.slice(1).split("?");
    if (place !== "orders" || query === undefined) return;
    const state = new URLSearchParams(query);
    text.value = state.get("q") || "";
    cause.value = state.get("cause") || "";
    if (cause.selectedIndex < 0) cause.value = "";
    apply();
    byId("orders").scrollIntoView();
  };
  const keep = () => {
    apply();
    const state = new URLSearchParams();
    if (text.value.trim()) state.set("q", text.value.trim());
    if (cause.value) state.set("cause", cause.value);
    history.replaceState(null, "", `${state}` ? `#orders?${state}` : "#orders");
  };
  form.hidden = false;
  form.addEventListener("submit", (event) => event.preventDefault());
  text.addEventListener("input", keep);
  cause.addEventListener("change", keep);
  addEventListener("hashchange", restore);
  restore();
})();
