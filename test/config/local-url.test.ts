// Requests to the server on this machine.
import { afterEach, expect, test } from "bun:test";
import { directUrl } from "../../src/config/local-url.ts";

const NAMES = ["no_proxy", "NO_PROXY"] as const;
const before = NAMES.map((name) => process.env[name]);
const set = (values: readonly (string | null | undefined)[]) => {
  for (const [index, name] of NAMES.entries()) {
    delete process.env[name];
    const value = values[index];
    if (value) process.env[name] = value;
  }
};
afterEach(() => set(before));

test.each([
  [null, null, ",127.0.0.1"],
  [null, "nas.local", "nas.local,127.0.0.1"],
  ["nas.local", "other.local", "nas.local,127.0.0.1"],
])("go past proxies, as those to what no_proxy %j and NO_PROXY %j name", (lower, upper, expected) => {
  set([lower, upper]);
  expect(directUrl({ host: "0.0.0.0", port: 8042 })).toBe("http://127.0.0.1:8042");
  expect(process.env["no_proxy"]).toBe(expected);
});
