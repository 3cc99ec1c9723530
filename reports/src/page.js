"use strict";
// The page is whole without this. It adds search and level, opens what a link points to, and takes the reader's language.
(() => {
  const one = (id) => document.getElementById(id);
  if (document.documentElement.dataset.language === "readers" && /^zh\b/i.test(navigator.language)) one("lang-zh").checked = true;

  const search = one("search"), level = one("level"), shown = one("shown");
  const vectors = [...document.querySelectorAll("details.v")];
  const texts = vectors.map((v) => v.textContent.toLowerCase());
  for (const label of document.querySelectorAll(".filters [hidden]")) label.hidden = false;
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
  };
  for (const input of document.querySelectorAll(".filters input, .filters select")) input.addEventListener("input", filter);
  filter();

  const open = () => {
    let place = null;
    try { place = one(decodeURIComponent(location.hash.slice(1))); } catch { return; }
    if (!place) return;
    if (place.matches("details.v")) {
      place.hidden = false;
      place.closest(".group").hidden = false;
      const box = one("f-" + [...place.classList].find((name) => name !== "v"));
      if (box && !box.checked) { box.checked = true; filter(); }
      place.open = true;
    }
    place.scrollIntoView({ block: "start" });
  };
  addEventListener("hashchange", open);
  open();
})();
