// In the engine of Safari, as phones open the page: by http, at an address of the network. It says nothing of the site of a
// request there (no Sec-Fetch-Site), and keeps pages for the Back button that are not to be stored.
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { PATIENCE, until } from "../support/patience.ts";
import { openProgram } from "../support/program.ts";
import { ATTACKS, hostsFor, listRequests, PASSWORD, printStored, serveSite } from "./other-site.ts";
import { HAS_WEBKIT, openWebKit, type WebKitWindow } from "./webkit.ts";

setDefaultTimeout(PATIENCE);

const addresses = Object.values(networkInterfaces()).flatMap((all) => all ?? []);
/** Of this machine in its network, if it is in one. */
const ADDRESS = addresses.find(({ family, internal }) => family === "IPv4" && !internal)?.address ?? "127.0.0.1";

const OPML = join(import.meta.dir, "../domain/opml/subscriptions.opml");
/** What the page shows to those who are not signed in. */
const STRANGER = "Keeps your podcasts and play positions in sync.";

describe.skipIf(!HAS_WEBKIT)("in WebKit", () => {
  const program = openProgram();
  let webkit: WebKitWindow;
  let server: Awaited<ReturnType<typeof program.serve>>;

  beforeAll(async () => {
    webkit = await openWebKit();
    server = await program.serve(["--host", ADDRESS]);
    for (const name of ["ann", "bob"]) {
      await program.run(["user", "create", name, "--password-stdin"], `${PASSWORD}\n`);
    }
  });
  afterAll(async () => {
    await webkit.close();
    program.close();
  });

  const open = (path: string) => webkit.goto(server.address + path);
  const isTrue = (script: string) => until(() => webkit.evaluate(script).catch(() => false));

  /** Signs in on the page that is open. */
  async function signIn(name: string): Promise<void> {
    await webkit.type("[name=name]", name);
    await webkit.type("[name=password]", PASSWORD);
    await webkit.click("Sign in");
    await isTrue("location.pathname === '/podcasts'");
  }

  async function signOut(): Promise<void> {
    await webkit.click("Account");
    await webkit.click("Sign out");
    await webkit.see(STRANGER);
  }

  async function addPodcast(feed_url: string): Promise<void> {
    await open("/podcasts/add");
    await webkit.type("[name=feed_url]", feed_url);
    await webkit.click("Add");
  }

  test("a user signs in, adds a podcast, unsubscribes, undoes it, imports a list, and signs out", async () => {
    await open("/");
    await signIn("ann");
    await addPodcast("https://a.example/feed");
    await webkit.see("Subscribed to “a.example/feed”.");
    await webkit.click("Aa.example/feed");
    await webkit.click("Unsubscribe");
    await webkit.see("0 podcasts");
    await webkit.click("Undo");
    await webkit.see("1 podcast");
    await open("/podcasts/more");
    await webkit.type("[type=file]", OPML);
    await webkit.click("Import OPML");
    await webkit.see("72 podcasts added");
    await signOut();
    await open("/podcasts");
    expect(await webkit.evaluate("location.pathname")).toBe("/sign-in");
  });

  test("the Back button shows nothing of who has signed out, also not to who signs in next", async () => {
    await open("/");
    await signIn("ann");
    await webkit.click("Account");
    await webkit.see("Signed in as ann");
    await webkit.click("Sign out");
    await webkit.see(STRANGER);
    await signIn("bob");
    await webkit.evaluate("void setTimeout(() => history.go(-2))");
    await webkit.see("Signed in as bob");
    await webkit.click("Sign out");
    await webkit.see(STRANGER);
    await webkit.back();
    await isTrue("location.pathname === '/sign-in'");
  });

  test("after the Back button the history's filter says what is shown", async () => {
    await program.run(["subscription", "add", "bob", "https://b.example/feed"]);
    await open("/");
    await signIn("bob");
    await addPodcast("https://c.example/feed");
    await webkit.see("2 podcasts");
    await webkit.click("History");
    await webkit.type("[name=by]", "Web page");
    await webkit.click("Show");
    await isTrue("location.search !== ''");
    await webkit.back();
    await isTrue("location.search === ''");
    await isTrue("document.querySelector('[name=by]').value === ''");
    await signOut();
  });

  describe.each(hostsFor(2))("a page of another site, at http://%s,", (host) => {
    test.each(["page", "frame"] as const)("changes nothing from a %s", async (where) => {
      await open("/");
      if (await webkit.evaluate("location.pathname === '/'")) await signIn("ann");
      await webkit.goto(
        `${server.address.replace("://", `://ann:${encodeURIComponent(PASSWORD)}@`)}/api/2/devices/ann.json`,
      );
      await open("/api/2/devices/ann.json");
      await webkit.see("[");
      const before = await printStored(program.run);
      const site = serveSite();
      for (const [path, ...form] of ATTACKS) {
        await webkit.goto(`http://${host}:${site.port}/`);
        // Later, because no script gets a result from a page that is gone.
        await webkit.evaluate(
          `void setTimeout(() => send(${JSON.stringify([server.address + path, ...form])}))`,
          where,
        );
        await webkit.see("Another site sent this request.");
      }
      await webkit.goto(`http://${host}:${site.port}/`);
      // By http, nothing tells a GET for an image from an address that was typed.
      const requests = (await listRequests()).filter(({ method }) => method !== "GET");
      await webkit.evaluate(`sendAll(${JSON.stringify([server.address, requests])})`, where);
      expect(await printStored(program.run)).toEqual(before);
      await site.stop(true);
    });
  });

  // The last test: Safari keeps no cookie for https that came by http, not even from localhost, as other browsers do.
  test("who opens podkeep by http on its own machine, although it has https, is told where to sign in", async () => {
    await server.stop();
    server = await program.serve(["--public-url", "https://podkeep.example"]);
    await open("/");
    await webkit.type("[name=name]", "ann");
    await webkit.type("[name=password]", PASSWORD);
    await webkit.click("Sign in");
    await webkit.see("Open https://podkeep.example to sign in");
  });
});
