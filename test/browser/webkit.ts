// Debian's WebKitGTK, whose engine is Safari's, driven by WebDriver (w3.org/TR/webdriver2): playwright-core drives only its
// patched WebKit.
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { freePort } from "../support/free-port.ts";
import { until } from "../support/patience.ts";
import { track } from "../support/start-server.ts";

const DRIVER = "/usr/bin/WebKitWebDriver";
/** A screen in memory: this browser does not start without one. */
const SCREEN = "/usr/bin/Xvfb";
/** False without a browser: the tests are skipped then. */
export const HAS_WEBKIT = [DRIVER, SCREEN].every((file) => existsSync(file));
if (!HAS_WEBKIT) {
  console.warn(`SKIPPED: tests with WebKit need ${DRIVER} and ${SCREEN} (apt-get install webkit2gtk-driver xvfb)`);
}

const Answer = z.object({ value: z.unknown() });
const Refusal = z.object({ error: z.string(), message: z.string() });
const Session = z.object({ sessionId: z.string() });
/** How WebDriver names an element. */
const ELEMENT = "element-6066-11e4-a52e-4f735466cecf";
const Element = z.object({ [ELEMENT]: z.string() });

/** One window of WebKitGTK with a new profile. */
export interface WebKitWindow {
  /** Opens an address, and resolves when it is loaded. */
  goto(url: string): Promise<void>;
  /** Goes back in the history of the window. */
  back(): Promise<void>;
  /** Waits for an element, and types into it; a path of a file into a field for files chooses that. */
  type(selector: string, text: string): Promise<void>;
  /** Waits for a button or link with a text, and clicks it. */
  click(text: string): Promise<void>;
  /** Waits until the page, or its only frame, shows a text. */
  see(text: string): Promise<void>;
  /** Runs a script, in the page or in its only frame, and resolves with its value or its promise's. */
  evaluate(script: string, where?: "page" | "frame"): Promise<unknown>;
  close(): Promise<void>;
}

/** Starts WebKitGTK on a screen in memory. @throws Error if it refuses a command */
export async function openWebKit(): Promise<WebKitWindow> {
  const home = mkdtempSync(join(tmpdir(), "webkit-"));
  const screen = track(Bun.spawn([SCREEN, "-displayfd", "1", "-nolisten", "tcp"], { stderr: "ignore" }));
  const { value: display } = await screen.stdout.getReader().read();
  const port = await freePort();
  const env = {
    PATH: process.env["PATH"],
    HOME: home,
    XDG_RUNTIME_DIR: home,
    DISPLAY: `:${new TextDecoder().decode(display).trim()}`,
    LANG: "en_US.UTF-8",
    // Neither root nor a container may make its sandbox.
    WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS: "1",
    // It draws nothing that is looked at: a third less of processor time.
    WEBKIT_DISABLE_COMPOSITING_MODE: "1",
    // It asks no other program of a desktop.
    DBUS_SESSION_BUS_ADDRESS: "disabled:",
    GSETTINGS_BACKEND: "memory",
    NO_AT_BRIDGE: "1",
  };
  const driver = track(Bun.spawn([DRIVER, `--port=${port}`], { env, stdout: "ignore", stderr: "ignore" }));

  async function command(method: string, path: string, parameters?: object): Promise<unknown> {
    const body = parameters && { body: JSON.stringify(parameters) };
    const response = await fetch(`http://127.0.0.1:${port}${path}`, { method, ...body });
    const { value } = Answer.parse(await response.json());
    if (response.ok) return value;
    const { error, message } = Refusal.parse(value);
    throw new Error(`${path}: ${error}: ${message}`);
  }
  await until(() => command("GET", "/status").then(Boolean, () => false));
  const { sessionId } = Session.parse(await command("POST", "/session", { capabilities: {} }));
  const send = (path: string, parameters: object) => command("POST", `/session/${sessionId}${path}`, parameters);
  const find = (using: string, value: string) =>
    // Before the page has come there is none.
    until(() =>
      send("/element", { using, value }).then(
        (one) => Element.parse(one)[ELEMENT],
        () => null,
      ),
    );
  const evaluate = async (script: string, where: "page" | "frame" = "page") => {
    await send("/frame", { id: where === "page" ? null : 0 });
    return send("/execute/async", { script: `Promise.resolve(${script}).then(arguments[0])`, args: [] });
  };
  return {
    goto: async (url) => void (await send("/url", { url })),
    back: async () => void (await send("/back", {})),
    type: async (selector, text) =>
      void (await send(`/element/${await find("css selector", selector)}/value`, { text })),
    async click(text) {
      const target = await find("xpath", `//*[self::a or self::button][normalize-space() = "${text}"]`);
      await send(`/element/${target}/click`, {});
    },
    // While the page changes, no script has a place to run.
    see: (text) =>
      until(() => evaluate(`document.body.innerText.includes(${JSON.stringify(text)})`).catch(() => false)).then(
        () => {},
      ),
    evaluate,
    async close() {
      await command("DELETE", `/session/${sessionId}`);
      driver.kill();
      screen.kill();
      await Promise.all([driver.exited, screen.exited]);
      rmSync(home, { recursive: true, force: true });
    },
  };
}
