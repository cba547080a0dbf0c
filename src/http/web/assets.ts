// Files of the web page, embedded in the executable. Their names change with their content, so browsers keep them for good.
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import listening from "./assets/listening.css" with { type: "text" };
import script from "./assets/script.js" with { type: "text" };
import style from "./assets/style.css" with { type: "text" };
import touchIcon from "./assets/touch-icon.png" with { type: "file" };
import tryIt from "./assets/try-it.js" with { type: "text" };
import { texts } from "./texts.ts";

export const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32" aria-hidden="true"><rect width="32" height="32" rx="8" fill="#4a3fc0"/><path d="M11 25V9h6a5 5 0 0 1 0 10h-6" fill="none" stroke="#fff" stroke-width="3" stroke-linecap="round" stroke-linejoin="round"/></svg>`;

export interface Asset {
  path: string;
  type: string;
  text: string | Uint8Array<ArrayBuffer>;
}

function asset(name: string, extension: string, type: string, text: Asset["text"]): Asset {
  return { path: `/assets/${name}-${Bun.hash(text).toString(36)}.${extension}`, type, text };
}

/** On one line, so that a phone loads less. */
const stylesheet = (name: string, text: string) =>
  asset(name, "css", "text/css; charset=utf-8", text.replace(/\n */g, "").replaceAll(";}", "}").replaceAll(" {", "{"));

/** How many colors tiles have. */
export const HUES = 12;
const hues = Array.from({ length: HUES }, (_, hue) => `.hue${hue}{--hue:${(hue * 360) / HUES}}`).join("");

const icons = {
  icon: asset("icon", "svg", "image/svg+xml", ICON),
  touchIcon: asset("touch-icon", "png", "image/png", new Uint8Array(readFileSync(touchIcon))),
};

// Its URLs are relative to itself, because the public URL may have a path.
const MANIFEST = {
  name: texts.name,
  description: texts.tagline,
  start_url: "../podcasts",
  scope: "../",
  display: "standalone",
  background_color: "#fbfaf8",
  theme_color: "#4a3fc0",
  icons: [
    { src: basename(icons.icon.path), type: icons.icon.type, sizes: "any" },
    { src: basename(icons.touchIcon.path), type: icons.touchIcon.type, sizes: "180x180" },
  ],
};

export const assets = {
  style: stylesheet("style", style + hues),
  listening: stylesheet("listening", listening),
  script: asset("script", "js", "text/javascript; charset=utf-8", script),
  tryIt: asset("try-it", "js", "text/javascript; charset=utf-8", tryIt),
  manifest: asset("manifest", "webmanifest", "application/manifest+json", JSON.stringify(MANIFEST)),
  ...icons,
};
