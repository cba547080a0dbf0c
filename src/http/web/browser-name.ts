// What a browser is called, by its User-Agent.
import { productIn } from "../user-agent.ts";

/** Products; the first that a User-Agent has counts, because browsers name others too. */
const BROWSERS = [
  ["Edge", /\bEdgA?\//],
  ["Opera", /\bOPR\//],
  ["Samsung Internet", /\bSamsungBrowser\//],
  ["Firefox", /\b(Firefox|FxiOS)\//],
  ["Chrome", /(Chrome|CriOS)\//],
  ["Safari", /\bSafari\//],
] as const;

const SYSTEMS = [
  ["Android", /\bAndroid\b/],
  ["iPhone", /\biPhone\b/],
  ["iPad", /\biPad\b/],
  ["Windows", /\bWindows\b/],
  ["macOS", /\bMac OS X\b/],
  ["ChromeOS", /\bCrOS\b/],
  ["Linux", /\bLinux\b/],
] as const;

/** Such as "Firefox on Android"; the product of an unknown one, empty without a User-Agent. */
export function browserName(userAgent = ""): string {
  const [browser, system] = [BROWSERS, SYSTEMS].map((all) => all.find(([, pattern]) => pattern.test(userAgent))?.[0]);
  const product = browser ?? productIn(userAgent).slice(0, 60);
  return system ? `${product} on ${system}` : product;
}
