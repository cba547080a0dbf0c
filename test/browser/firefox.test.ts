// In Firefox, whose own styles are not Chromium's: the page, and web pages of other sites, as in other-site.test.ts.
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { texts } from "../../src/http/web/texts.ts";
import { PATIENCE, until } from "../support/patience.ts";
import { openProgram } from "../support/program.ts";
import { type FirefoxWindow, HAS_FIREFOX, openFirefox } from "./firefox.ts";
import { ATTACKS, hostsFor, listRequests, PASSWORD, printStored, serveSite } from "./other-site.ts";

setDefaultTimeout(PATIENCE);

describe.skipIf(!HAS_FIREFOX)("in Firefox", () => {
  const program = openProgram();
  let firefox: FirefoxWindow;
  let podkeep: string;
  let site: ReturnType<typeof Bun.serve>;

  beforeAll(async () => {
    firefox = await openFirefox();
    podkeep = (await program.serve()).address;
    await program.run(["user", "create", "ann", "--password-stdin"], `${PASSWORD}\n`);
    site = serveSite();
    await firefox.goto(podkeep);
    await firefox.evaluate(`(() => {
      document.querySelector("[name=name]").value = "ann";
      document.querySelector("[name=password]").value = ${JSON.stringify(PASSWORD)};
      setTimeout(() => document.querySelector("form button").click());
    })()`);
    await seeResponse("GET", "/podcasts", 200);
    await firefox.goto(`${podkeep.replace("://", `://ann:${encodeURIComponent(PASSWORD)}@`)}/api/2/devices/ann.json`);
    firefox.takeSeen();
    await firefox.goto(`${podkeep}/api/2/devices/ann.json`);
    await seeResponse("GET", "/api/2/devices/ann.json", 200);
  });
  afterAll(async () => {
    await site.stop(true);
    await firefox.close();
    await program.close();
  });

  /** Waits for podkeep's response to a request. */
  async function seeResponse(method: string, path: string, status: number): Promise<void> {
    for (;;) {
      const found = firefox.takeSeen().find((one) => one.method === method && new URL(one.url).pathname === path);
      if (found) return expect([path, found.status]).toEqual([path, status]);
      await Bun.sleep(20);
    }
  }

  test("the hint in an empty field is as dark as other small print", async () => {
    await program.run(["subscription", "add", "ann", "https://a.example/feed"]);
    await firefox.goto(`${podkeep}/podcasts`);
    const styleOf = (selector: string, part: string | null) =>
      firefox.evaluate(
        `(({ color, opacity }) => ({ color, opacity }))(getComputedStyle(document.querySelector("${selector}"), ${part}))`,
      );
    expect(await styleOf("input[type=search]", "'::placeholder'")).toEqual(await styleOf(".muted", null));
  });

  test("screen readers say what a form has done", async () => {
    await firefox.goto(`${podkeep}/account`);
    await firefox.evaluate(`(() => {
      for (const name of ["present", "changed"]) document.getElementById(name).value = ${JSON.stringify(PASSWORD)};
      setTimeout(() => document.querySelector("form:has(#changed)").requestSubmit());
    })()`);
    const isNotice = "document.activeElement.matches('.notice')";
    await until(() => firefox.evaluate(isNotice).then(Boolean, () => false));
    expect(await firefox.count("status", texts.account.changedDone)).toBe(1);
  });

  describe.each(hostsFor(1))("a page of another site, at http://%s,", (host) => {
    test.each(["page", "frame"] as const)("changes nothing from a %s", async (where) => {
      const before = await printStored(program.run);
      for (const [path, ...form] of ATTACKS) {
        await firefox.goto(`http://${host}:${site.port}/`);
        // Later, because no script gets a result from a page that is gone.
        await firefox.evaluate(`void setTimeout(() => send(${JSON.stringify([podkeep + path, ...form])}))`, where);
        await seeResponse("POST", path, 403);
      }
      await firefox.goto(`http://${host}:${site.port}/`);
      firefox.takeSeen();
      await firefox.evaluate(`sendAll(${JSON.stringify([podkeep, await listRequests()])})`, where);
      const seen: ReturnType<typeof firefox.takeSeen> = [];
      // The others ended at CORS' question.
      await until(() => seen.push(...firefox.takeSeen().filter(({ url }) => url.startsWith(podkeep))) > 15);
      expect(seen.filter(({ status }) => status !== 403)).toEqual([]);
      expect(await printStored(program.run)).toEqual(before);
    });
  });
});
