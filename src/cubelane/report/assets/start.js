"use strict";
// Builds what needs all parts, then shows the part the address names.
explain(null);
buildTimeline();
show(["ir", "lanes", "timeline", "memory", "verdicts"].includes(location.hash.slice(1)) ? location.hash.slice(1) : "ir");
document.documentElement.dataset.ready = "yes";
