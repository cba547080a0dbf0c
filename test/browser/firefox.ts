// Debian's Firefox, driven by WebDriver BiDi (w3.org/TR/webdriver-bidi): playwright-core drives only its patched Firefox.
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { until } from "../support/patience.ts";

const EXECUTABLE = process.env["PODKEEP_FIREFOX"] ?? "/usr/bin/firefox-esr";
/** False without a browser: the tests are skipped then. */
export const HAS_FIREFOX = existsSync(EXECUTABLE);
if (!HAS_FIREFOX) console.warn(`SKIPPED: tests with Firefox need ${EXECUTABLE} (apt-get install firefox-esr)`);

/** Without these, Firefox looks for its maker's servers. */
const QUIET = `
user_pref("app.normandy.enabled", false);
user_pref("app.update.enabled", false);
user_pref("browser.safebrowsing.update.enabled", false);
user_pref("browser.shell.checkDefaultBrowser", false);
user_pref("datareporting.policy.dataSubmissionEnabled", false);
user_pref("extensions.update.enabled", false);
user_pref("network.captive-portal-service.enabled", false);
user_pref("network.connectivity-service.enabled", false);
user_pref("services.settings.server", "http://127.0.0.1:9");
user_pref("toolkit.telemetry.enabled", false);
`;

const Message = z.union([
  z.object({ type: z.literal("success"), id: z.int(), result: z.unknown() }),
  z.object({ type: z.literal("error"), id: z.int().nullable(), message: z.string() }),
  z.object({ type: z.literal("event"), method: z.string(), params: z.unknown() }),
]);
const Context = z.object({ context: z.string() });
const Tree = z.object({ contexts: z.tuple([z.object({ children: z.array(Context).nullable() })]) });
const Completed = z.object({
  request: z.object({ method: z.string(), url: z.string() }),
  response: z.object({ status: z.int() }),
});
const Evaluated = z.union([
  z.object({ type: z.literal("success"), result: z.object({ value: z.unknown() }) }),
  z.object({ type: z.literal("exception"), exceptionDetails: z.object({ text: z.string() }) }),
]);
const Located = z.object({ nodes: z.array(z.unknown()) });

/** A response that the window got, also those that its pages may not read. */
interface Seen {
  method: string;
  url: string;
  status: number;
}

/** One window of Firefox with a new profile. */
export interface FirefoxWindow {
  /** Opens an address, and resolves when it is loaded. */
  goto(url: string): Promise<void>;
  /** Runs a script, in the page or in its only frame, and resolves with its value or its promise's, which must be JSON. */
  evaluate(script: string, where?: "page" | "frame"): Promise<unknown>;
  /** How many elements screen readers find with this role and name. */
  count(role: string, name: string): Promise<number>;
  /** Responses since the last call. */
  takeSeen(): Seen[];
  close(): Promise<void>;
}

/** Starts Firefox without a screen. @throws Error if it does not say where it listens, or refuses a command. */
export async function openFirefox(): Promise<FirefoxWindow> {
  const profile = mkdtempSync(join(tmpdir(), "firefox-"));
  await Bun.write(join(profile, "user.js"), QUIET);
  const command = [EXECUTABLE, "--headless", "--no-remote", "--profile", profile, "--remote-debugging-port", "0"];
  const child = Bun.spawn(command, { stdout: "ignore", stderr: "pipe", env: { ...process.env, HOME: profile } });
  const socket = new WebSocket(`${await readAddress(child.stderr)}/session`);
  await new Promise((resolve, reject) => {
    socket.onopen = resolve;
    socket.onerror = () => reject(new Error("Firefox does not take WebDriver BiDi"));
  });
  const waiting = new Map<number, { resolve(result: unknown): void; reject(error: Error): void }>();
  let seen: Seen[] = [];
  socket.onmessage = ({ data }) => {
    const message = Message.parse(JSON.parse(String(data)));
    if (message.type === "event") {
      const completed = Completed.safeParse(message.params);
      if (completed.success) seen.push({ ...completed.data.request, status: completed.data.response.status });
    } else if (message.type === "error") {
      waiting.get(message.id ?? -1)?.reject(new Error(message.message));
    } else waiting.get(message.id)?.resolve(message.result);
  };
  let last = 0;
  const send = (method: string, params: object) =>
    new Promise<unknown>((resolve, reject) => {
      last += 1;
      waiting.set(last, { resolve, reject });
      socket.send(JSON.stringify({ id: last, method, params }));
    });

  await send("session.new", { capabilities: {} });
  await send("session.subscribe", { events: ["network.responseCompleted"] });
  const { context } = Context.parse(await send("browsingContext.create", { type: "tab" }));
  const findFrame = async () => {
    const { contexts } = Tree.parse(await send("browsingContext.getTree", { root: context }));
    const frame = contexts[0].children?.[0];
    if (!frame) throw new Error("The page has no frame");
    return frame.context;
  };
  const evaluate = async (script: string, where: "page" | "frame" = "page"): Promise<unknown> => {
    const target = { context: where === "page" ? context : await findFrame() };
    // As JSON, because WebDriver BiDi has a special form for values.
    const expression = `Promise.resolve(${script}).then((value) => JSON.stringify(value ?? null))`;
    const params = { expression, target, awaitPromise: true };
    const evaluated = Evaluated.parse(await send("script.evaluate", params));
    if (evaluated.type === "exception") throw new Error(evaluated.exceptionDetails.text);
    return JSON.parse(z.string().parse(evaluated.result.value));
  };
  return {
    async goto(url) {
      // Firefox never answers `wait: "complete"` if the page before was still loading.
      await send("browsingContext.navigate", { context, url, wait: "none" });
      const { origin, pathname } = new URL(url);
      const isThere = `document.readyState === "complete" && location.href === ${JSON.stringify(origin + pathname)}`;
      // While the page changes, no script has a place to run.
      await until(() => evaluate(isThere).then(Boolean, () => false));
    },
    evaluate,
    async count(role, name) {
      const locator = { type: "accessibility", value: { role, name } };
      return Located.parse(await send("browsingContext.locateNodes", { context, locator })).nodes.length;
    },
    takeSeen() {
      const taken = seen;
      seen = [];
      return taken;
    },
    async close() {
      socket.close();
      child.kill();
      await child.exited;
      rmSync(profile, { recursive: true, force: true });
    },
  };
}

async function readAddress(stderr: ReadableStream<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of stderr) {
    text += decoder.decode(chunk, { stream: true });
    const found = /WebDriver BiDi listening on (ws:\S+)/.exec(text)?.[1];
    if (found) return found;
  }
  throw new Error(`Firefox ended: ${text}`);
}
