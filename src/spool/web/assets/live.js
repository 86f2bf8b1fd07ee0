// Follows a loop, or the list of loops: server-sent events bring the agent's stream and the parts of the page that change.
// The HTML in them is the server's, cleaned and escaped there; the page's policy forbids everything else.
"use strict";
(() => {
  const main = document.querySelector("[data-stream]");
  const state = document.getElementById("connection");
  if (!main || !window.EventSource) return;
  const log = document.querySelector("#log > div");
  const earlier = document.getElementById("earlier");
  const MOST_BLOCKS = 1500;
  let source = null;
  let cursor = main.dataset.from || "";
  let said = "";

  const parse = (html) => {
    const template = document.createElement("template");
    template.innerHTML = html;
    return template.content;
  };

  // Changes only what differs, so that focus, selection and unfolded parts stay.
  const morph = (old, fresh) => {
    const before = [...old.childNodes];
    const after = [...fresh.childNodes];
    after.forEach((node, place) => {
      const known = before[place];
      if (!known) return old.append(node);
      if (known.nodeType !== node.nodeType || known.nodeName !== node.nodeName || known.id !== node.id) return known.replaceWith(node);
      if (node.nodeType !== Node.ELEMENT_NODE) {
        if (known.data !== node.data) known.data = node.data;
        return undefined;
      }
      for (const { name } of [...known.attributes]) if (name !== "open" && !node.hasAttribute(name)) known.removeAttribute(name);
      for (const { name, value } of node.attributes) if (known.getAttribute(name) !== value) known.setAttribute(name, value);
      return morph(known, node);
    });
    before.slice(after.length).forEach((node) => node.remove());
  };

  const update = (panels) => {
    for (const [name, html] of Object.entries(panels)) {
      const panel = document.querySelector(`[data-panel="${name}"]`);
      if (panel) morph(panel, parse(html));
    }
    if (panels.title) document.title = `${panels.title} · Spool`;
    if (panels.say && said && panels.say !== said) state.textContent = panels.say;
    said = panels.say || said;
  };

  const trim = () => {
    while (log.childElementCount > MOST_BLOCKS) log.firstElementChild.remove();
    const first = log.firstElementChild;
    if (!first || !earlier) return;
    const address = new URL(earlier.dataset.log, location.href);
    address.searchParams.set("before", first.dataset.at);
    earlier.href = address.pathname + address.search;
    earlier.hidden = false;
  };

  const append = ({ html, anew, earlier: address }) => {
    if (anew) {
      log.replaceChildren();
      earlier.href = address || earlier.dataset.log;
      earlier.hidden = !address;
    }
    for (const block of [...parse(html).children]) {
      const known = document.getElementById(block.id);
      if (known && log.contains(known)) morph(known, block);
      else log.append(block);
    }
    if (log.childElementCount > MOST_BLOCKS) trim();
  };

  const close = () => {
    if (source) source.close();
    source = null;
  };

  const open = () => {
    close();
    source = new EventSource(`${main.dataset.stream}?from=${encodeURIComponent(cursor)}`);
    source.onopen = () => { main.dataset.live = "yes"; state.textContent = "live"; };
    source.onerror = () => {
      main.dataset.live = "no";
      state.textContent = source && source.readyState === EventSource.CLOSED ? "not live: reload the page" : "not live: trying again";
    };
    source.addEventListener("panels", (event) => update(JSON.parse(event.data)));
    source.addEventListener("log", (event) => {
      cursor = event.lastEventId || cursor;
      if (log) append(JSON.parse(event.data));
    });
  };

  // A browser opens six connections to a server at most; a page that nobody sees needs none.
  document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
  window.addEventListener("pagehide", close);
  if (!document.hidden) open();
})();
