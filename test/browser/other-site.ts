// The page of an attacker, and what it sends with the user's cookies and Basic credentials.
import { LONG } from "../faults/rounds.ts";
import { EXAMPLES, encodeBody, fill, openWorld } from "../faults/two-users.ts";
import { SEED } from "../support/seed.ts";

export const PASSWORD = "correct horse battery";
const EVIL = "https://evil.example/feed";
/** Those that apps are let in with: localhost, and a name under it. In the usual run each browser has one of them. */
const HOSTS = ["localhost", "tauri.localhost"];
export const hostsFor = (browser: number) => (LONG ? HOSTS : [HOSTS[(SEED + browser) % 2] ?? ""]);
/** Sends a form from a page, or a frame in it. */
const SCRIPT = `<script>
  function send([action, enctype, name, value]) {
    const form = Object.assign(document.createElement("form"), { action, enctype, method: "post", target: "_top" });
    form.append(Object.assign(document.createElement("textarea"), { name, value }));
    document.body.append(form);
    form.submit();
  }
  // Without CORS, a page may send GET and POST with a text, and the browser adds what it has of the user.
  async function sendAll([podkeep, requests]) {
    for (const { method, path, body } of requests) {
      const text = method === "GET" ? undefined : new Blob([body], { type: "text/plain" });
      const mode = ["GET", "POST"].includes(method) ? "no-cors" : "cors";
      await fetch(podkeep + path, { method, body: text, mode, credentials: "include" }).catch(() => {});
    }
  }
</script>`;
/** A request to every route of apps and of the page that takes credentials; other tests see that none is missing. */
export async function listRequests(): Promise<{ method: string; path: string; body: string }[]> {
  const { server, ann, bob } = await openWorld();
  const { gpodder, nextcloud, app_passwords, page } = EXAMPLES;
  const examples = [gpodder, nextcloud, app_passwords, page].flatMap((table) => Object.entries(table));
  const all = examples.map(async ([name, example]) => {
    const { path, ...sent } = fill(example, ann, bob);
    const { body } = await encodeBody(sent);
    return { method: name.split(" ")[0] ?? "", path, body: body === undefined ? "" : Buffer.from(body).toString() };
  });
  const found = await Promise.all(all);
  await server.close();
  return found;
}

/** Forms that would change something: the name and the value of their field are JSON together. */
const FIELD = [`{"add":["${EVIL}"],"remove":[],"x":"`, '"}'] as const;
export const ATTACKS = [
  ["/api/2/subscriptions/ann/evil.json", "text/plain", ...FIELD],
  ["/api/2/devices/ann/evil.json", "text/plain", ...FIELD],
  ["/apps/gpoddersync/subscription_change/create", "text/plain", ...FIELD],
  ["/podcasts/add", "application/x-www-form-urlencoded", "feed_url", EVIL],
] as const;

/** A site of an attacker, on a port of this machine: every page has a frame without an origin. */
export function serveSite(): ReturnType<typeof Bun.serve> {
  const framed =
    '<iframe name="framed" sandbox="allow-scripts allow-forms allow-top-navigation" src="/inner"></iframe>';
  const page = (body: string) => new Response(body, { headers: { "Content-Type": "text/html" } });
  return Bun.serve({ port: 0, fetch: ({ url }) => page(`<body>${SCRIPT}${url.endsWith("/inner") ? "" : framed}`) });
}

/** What an attack would change, as the commands print it. */
export async function printStored(run: (command: string[]) => Promise<{ out: string }>): Promise<string[]> {
  const printed = [];
  for (const command of [
    ["opml", "export", "ann"],
    ["token", "list"],
    ["device", "list", "ann"],
  ]) {
    printed.push((await run(command)).out.replace(/<dateCreated>.*?</, "<"));
  }
  return printed;
}
