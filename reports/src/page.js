"use strict";
// The page is whole without this. It adds search and level, opens what a link points to, and takes the reader's language.
(() => {
  const one = (id) => document.getElementById(id);
  const root = document.documentElement;
  if (root.dataset.language === "readers" && /^zh\b/i.test(navigator.language)) one("lang-zh").checked = true;
  const language = () => {
    const zh = one("lang-zh").checked;
    root.lang = zh ? "zh-Hans" : "en";
    document.title = zh ? root.dataset.titleZh : root.dataset.titleEn;
  };
  for (const id of ["lang-en", "lang-zh"]) one(id).addEventListener("input", language);
  language();

  const search = one("search"), level = one("level"), shown = one("shown"), bar = document.querySelector(".filters");
  const boxes = [...bar.querySelectorAll("[type=checkbox]")];
  const vectors = [...document.querySelectorAll("details.v")];
  const texts = vectors.map((v) => v.textContent.toLowerCase());
  for (const hidden of bar.querySelectorAll("[hidden]")) hidden.hidden = false;
  const filter = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    vectors.forEach((v, n) => {
      v.hidden = (level.value && v.dataset.level !== level.value) || !words.every((word) => texts[n].includes(word));
    });
    let visible = 0;
    for (const group of document.querySelectorAll(".group")) {
      group.hidden = false;
      const count = [...group.querySelectorAll("details.v")].filter((v) => v.offsetParent !== null).length;
      group.hidden = count === 0;
      visible += count;
    }
    shown.textContent = visible + " / " + vectors.length;
    document.querySelector(".empty").hidden = visible > 0;
    // What is jumped to must not lie below the bar, which is as high as its lines.
    root.style.setProperty("--bar", getComputedStyle(bar).position === "sticky" ? bar.offsetHeight + "px" : "0px");
  };
  const reset = (...outcomes) => {
    search.value = level.value = "";
    for (const box of boxes) box.checked = !outcomes.length || outcomes.includes(box.id);
    filter();
  };
  for (const input of bar.querySelectorAll("input, select")) input.addEventListener("input", filter);
  one("reset").addEventListener("click", () => reset());
  one("only-failed").addEventListener("click", () => reset("f-fail", "f-error"));
  addEventListener("resize", filter);
  filter();

  const open = () => {
    let place = null;
    try { place = one(decodeURIComponent(location.hash.slice(1))); } catch { return; }
    if (!place) return;
    // A filter that hides what is asked for gives way.
    if (place.matches("details.v")) {
      place.open = true;
      if (place.offsetParent === null) reset();
    } else if (place.offsetParent === null) {
      one("only-short").checked = false;
    }
    place.scrollIntoView({ block: "start" });
  };
  addEventListener("hashchange", open);
  // The same link once more changes no hash.
  addEventListener("click", (event) => {
    const link = event.target.closest("a[href^='#']");
    if (link && link.hash === location.hash) open();
  });
  open();

  // The fields of the map are one stop for the tab key; arrows go from one to the next.
  const fields = [...document.querySelectorAll(".sq")];
  fields.forEach((field, n) => { field.tabIndex = n ? -1 : 0; });
  document.querySelector(".fields")?.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const next = fields[fields.indexOf(event.target) + step];
    if (!step || !next || !fields.includes(event.target)) return;
    event.preventDefault();
    for (const field of fields) field.tabIndex = field === next ? 0 : -1;
    next.focus();
  });
})();
