// Takes the screenshots in docs/screenshots: `npm run screenshots`, with Debian's Chromium.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { launch } from "../test/browser/chromium.ts";
import { openProgram } from "../test/support/program.ts";

const FOLDER = join(import.meta.dir, "../docs/screenshots");
const OPML = join(import.meta.dir, "../test/domain/opml/subscriptions.opml");
const PASSWORD = "correct horse battery";
const SIZES = { phone: { width: 390, height: 780 }, laptop: { width: 1024, height: 700 } };

mkdirSync(FOLDER, { recursive: true });
const program = openProgram();
const browser = await launch();
try {
  await program.run(["user", "create", "ann", "--password-stdin"], `${PASSWORD}\n`);
  await program.run(["opml", "import", "ann", OPML]);
  const { address } = await program.serve();
  const { token } = (await program.run(["token", "issue", "ann", "--label", "AntennaPod, phone", "--json"])).json;
  const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
  const response = await fetch(`${address}/subscriptions?per_page=4`, { headers });
  const Page = z.object({ subscriptions: z.array(z.object({ guid: z.string() })) });
  for (const { guid } of Page.parse(await response.json()).subscriptions) {
    await fetch(`${address}/subscriptions/${guid}`, { method: "PATCH", headers, body: '{"is_subscribed":false}' });
  }
  for (const [size, viewport] of Object.entries(SIZES)) {
    for (const colorScheme of ["light", "dark"] as const) {
      const context = await browser.newContext({ baseURL: address, viewport, colorScheme });
      const window = await context.newPage();
      const take = (name: string) => window.screenshot({ path: join(FOLDER, `${name}-${size}-${colorScheme}.png`) });
      await window.goto("/");
      await take("sign-in");
      await window.getByLabel("Name").fill("ann");
      await window.getByLabel("Password or token").fill(PASSWORD);
      await window.getByRole("button", { name: "Sign in" }).click();
      await window.waitForURL("**/podcasts");
      for (const name of ["podcasts", "apps", "history", "account"]) {
        await window.goto(`/${name}`);
        await take(name);
      }
      await context.close();
    }
  }
} finally {
  await browser.close();
  program.close();
}
process.exit(0);
