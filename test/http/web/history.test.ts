// The history on the page: who changed what, and putting back what was lost.
import { afterEach, beforeEach, expect, test } from "bun:test";
import { createBackup } from "../../../src/backups/backups.ts";
import { restoreBackup } from "../../../src/backups/restore.ts";
import { appNamed } from "../../../src/http/apps.ts";
import { issueToken } from "../../../src/services/accounts/tokens.ts";
import { actAsUser } from "../../../src/services/actor.ts";
import { identifyClient } from "../../../src/services/devices/clients.ts";
import { uploadFeedChanges } from "../../../src/services/devices/device-uploads.ts";
import { saveDevice } from "../../../src/services/devices/devices.ts";
import { importFeeds } from "../../../src/services/subscriptions/imports.ts";
import { guidOf, openTestApp, START, type TestApp, type TestUser } from "../../support/app.ts";
import { basicAuth } from "../../support/basic-auth.ts";
import { ON_SQLITE } from "../../support/database.ts";
import { type Browser, openBrowser, signedIn, titlesOf } from "../browser.ts";

const HOUR = 3_600_000;
const PASSWORD = "correct horse battery";
let server: TestApp;
let user: TestUser;
let phone: TestUser;
let browser: Browser;

beforeEach(async () => {
  server = await openTestApp();
  user = await server.user("ann");
  const options = { label: "AntennaPod, phone", scope: "write", expires_at: null } as const;
  phone = server.as(user, (await issueToken(server.app, actAsUser(user.id), options)).token);
  browser = await signedIn(server, user);
  for (let n = 1; n <= 12; n++) await user.add(`https://${n}.example/`, guidOf(n));
  server.clock.advance(HOUR);
});
afterEach(() => server.close());

const subscribed = async () => (await user.changes()).filter((item) => item.is_subscribed).map(({ guid }) => guid);
async function wipe() {
  for (let n = 1; n <= 12; n++) await phone.request("PATCH", `/subscriptions/${guidOf(n)}`, { is_subscribed: false });
}
/** Asks what a restore would change. */
const previewOf = (fields: Record<string, string>) => browser.open(`/history/restore?${new URLSearchParams(fields)}`);
/** Follows the first link to such a preview. */
const openPreview = (body: string) => browser.open(/href="(\/history\/restore\?[^"]*)"/.exec(body)?.[1] ?? "");
/** The fields of the first form that goes to a path. */
function fieldsOf(body: string, action: string): Record<string, string> {
  const form = new RegExp(`<form[^>]*action="${action}"[^>]*>([\\s\\S]*?)</form>`).exec(body)?.[1] ?? "";
  const text = (value: string) => value.replaceAll("&quot;", '"').replaceAll("&amp;", "&");
  const inputs = form.matchAll(/name="([^"]*)" value="([^"]*)"/g);
  return Object.fromEntries([...inputs].map(([, name = "", value = ""]) => [name, text(value)]));
}

test("changes are grouped by app, newest first", async () => {
  await wipe();
  const { body } = await browser.open("/history");
  expect(body).toContain("AntennaPod, phone");
  expect(body).toContain("removed 12");
  expect(body).toContain("added 12");
  expect(body.indexOf("removed 12")).toBeLessThan(body.indexOf("added 12"));
});

test("parts of the history have titles of their own", async () => {
  await wipe();
  const query = `by=${phone.token.split("_")[1]}&podcast=${guidOf(1)}&after=${server.clock.now()}.0`;
  const paths = [`/history?${query}`, "/history/restore", "/history/restore?before=1"];
  expect(await titlesOf(browser, paths)).toEqual([
    "History · 1.example · AntennaPod, phone · before 2026-01-01 01:00:00 UTC · podkeep",
    "Restore the list · podkeep",
    "Restore the list · Preview · podkeep",
  ]);
});

test("a list that an app emptied is said above every page, and one click brings it back", async () => {
  await wipe();
  for (const path of ["/apps", "/history", "/account", "/connect", "/podcasts/add", "/podcasts/nothing"]) {
    expect((await browser.open(path)).body).toContain("<bdi>AntennaPod, phone</bdi> removed 12 of 12 podcasts");
  }
  expect((await openBrowser(server).open("/sign-in")).body).not.toContain("removed 12");
  const page = await browser.open("/podcasts");
  expect(page.body).toContain(`href="/history?by=${phone.token.split("_")[1]}"`);
  expect(page.body).toContain("<bdi>AntennaPod, phone</bdi> removed 12 of 12 podcasts");
  const after = await browser.submit("/history/put-back", fieldsOf(page.body, "/history/put-back"));
  expect(after.body).toContain("12 podcasts are back.");
  expect(await subscribed()).toHaveLength(12);
  expect((await browser.open("/podcasts")).body).not.toContain("removed 12 of 12");
  await user.request("PATCH", `/subscriptions/${guidOf(1)}`, { is_subscribed: false });
  const again = await browser.submit("/history/put-back", fieldsOf(page.body, "/history/put-back"));
  expect(again.body).toContain("Nothing was missing, or others have removed it since.");
  expect(await subscribed()).toHaveLength(11);
});

test("a sync of more changes than a page is one entry with all of them, and can be put back whole", async () => {
  server.clock.advance(HOUR);
  const feeds = Array.from({ length: 1200 }, (_, n) => ({ feed_url: `https://feed${n}.example/`, title: null }));
  await importFeeds(server.app, actAsUser(user.id), feeds, { dry_run: false });
  server.clock.advance(HOUR);
  const headers = basicAuth("ann", phone.token);
  const body = JSON.stringify({ add: [], remove: feeds.map(({ feed_url }) => feed_url) });
  await server.send("POST", "/api/2/subscriptions/ann/phone.json", { headers, body });
  const page = await browser.open("/history");
  expect(page.body).toContain("removed 1200");
  expect(page.body).toContain("<li>and 700 more</li>");
  const older = /href="(\/history\?after=[^"]*)"/.exec(page.body)?.[1] ?? "";
  const second = await browser.open(older);
  expect(second.body).toContain("added 1200");
  const third = await browser.open(/href="(\/history\?after=[^"]*)"/.exec(second.body)?.[1] ?? "");
  expect(third.body).toContain("added 12<");
  expect(third.body).not.toContain("Older");
  const list = page.body.split('<ul class="rows">')[1] ?? "";
  await browser.submit("/history/put-back", fieldsOf(list, "/history/put-back"));
  expect((await browser.open("/podcasts")).body).toContain("1212 podcasts");
});

test("the list as of a moment is shown first, and restored only then", async () => {
  await wipe();
  await user.add("https://new.example/", guidOf(99));
  const as_of = new Date(START + HOUR / 2).toISOString().slice(0, 16);
  const preview = await previewOf({ as_of });
  expect(preview.body).toContain("The list had 12 podcasts");
  expect(await subscribed()).toEqual([guidOf(99)]);
  const fields = fieldsOf(preview.body.split("<h2>")[1] ?? "", "/history/restore");
  const done = await browser.submit("/history/restore", fields);
  expect(done.path).toBe("/history?restored=12");
  expect(await subscribed()).toHaveLength(13);
});

test("a moment is taken in the visitor's zone, and the preview says what would happen", async () => {
  await wipe();
  const as_of = new Date(START + HOUR / 2 - 5 * HOUR).toISOString().slice(0, 16);
  const preview = await previewOf({ as_of, zone: "300" });
  expect(preview.body).toContain("12 podcasts come back.");
  // A link that is opened in another zone shows which moment it means.
  expect(preview.body).toMatch(/The list had 12 podcasts[^\n]*<time datetime="2026-01-01T00:30:00.000Z"/);
  const fields = fieldsOf(preview.body.split("<h2>")[1] ?? "", "/history/restore");
  expect(fields).toMatchObject({ as_of, zone: "300" });
  expect((await browser.submit("/history/restore", fields)).path).toBe("/history?restored=12");
  expect((await browser.submit("/history/restore", { as_of, zone: "x" })).status).toBe(400);
});

test("the preview calls podcasts by their titles", async () => {
  const outline = '<outline type="rss" text="Meta-Cast" xmlUrl="https://1.example/"/>';
  await browser.submit("/podcasts/import", { file: new File([`<opml><body>${outline}</body></opml>`], "list.opml") });
  await wipe();
  const as_of = new Date(START + HOUR / 2).toISOString().slice(0, 16);
  const { body } = await previewOf({ as_of });
  expect(body).toContain("subscribe to <bdi>Meta-Cast</bdi>");
  expect(body).toContain("subscribe to <bdi>2.example</bdi>");
});

test("the preview calls by their titles what was added since, and what has moved", async () => {
  const outlines = [1, 13].map((n) => `<outline type="rss" text="Podcast ${n}" xmlUrl="https://${n}.example/"/>`);
  const file = new File([`<opml><body>${outlines.join("")}</body></opml>`], "list.opml");
  await browser.submit("/podcasts/import", { file });
  await phone.request("PATCH", `/subscriptions/${guidOf(1)}`, { new_feed_url: "https://moved.example/" });
  await phone.request("PATCH", `/subscriptions/${guidOf(1)}`, { is_subscribed: false });
  const as_of = new Date(START + HOUR / 2).toISOString().slice(0, 16);
  const { body } = await previewOf({ as_of, exact: "1" });
  expect(body).toContain("subscribe to <bdi>Podcast 1</bdi>");
  expect(body).toContain("unsubscribe <bdi>Podcast 13</bdi>");
  expect((await previewOf({ as_of })).body).toContain("subscribe to <bdi>Podcast 1</bdi>");
});

test("the preview of an exact restore says what it would move back and merge, and nothing that it would not do", async () => {
  const asOf = (hours: number) => new Date(START + hours * HOUR).toISOString().slice(0, 16);
  await phone.request("PATCH", `/subscriptions/${guidOf(3)}`, { new_feed_url: "https://moved.example/" });
  const moved = await previewOf({ as_of: asOf(0.5), exact: "1" });
  expect(moved.body).toContain("<p>12 are there already, 1 gets its earlier feed URL back.</p>");
  expect(moved.body).toContain("give <bdi>3.example</bdi> its earlier feed URL back");
  await phone.request("PATCH", `/subscriptions/${guidOf(2)}`, { new_feed_url: "https://1.example/" });
  server.clock.advance(HOUR);
  await browser.submit("/history/restore", { as_of: asOf(0.5) });
  const merged = await previewOf({ as_of: asOf(1.5), exact: "1" });
  expect(merged.body).toContain(
    "<p>11 are there already, 1 gets its earlier feed URL back, 1 becomes part of another one.</p>",
  );
  expect(merged.body).toContain("merge <bdi>1.example</bdi> into another one");
});

test("a restore counts a podcast once that was removed and has moved", async () => {
  await phone.request("PATCH", `/subscriptions/${guidOf(1)}`, { new_feed_url: "https://moved.example/" });
  await phone.request("PATCH", `/subscriptions/${guidOf(1)}`, { is_subscribed: false });
  const as_of = new Date(START + HOUR / 2).toISOString().slice(0, 16);
  const done = await browser.submit("/history/restore", { as_of, exact: "1" });
  expect(done.body).toContain("The list is restored: 1 podcast was changed.");
});

test("the history of a deleted podcast calls it by its name", async () => {
  await phone.remove(guidOf(3));
  await server.drain();
  expect((await browser.open(`/history?podcast=${guidOf(3)}`)).body).toContain("Changes of <bdi>3.example</bdi>");
});

test("an exact restore also unsubscribes what was added since", async () => {
  await user.add("https://new.example/", guidOf(99));
  const as_of = new Date(START + HOUR / 2).toISOString().slice(0, 16);
  await browser.submit("/history/restore", { as_of, exact: "1" });
  expect(await subscribed()).not.toContain(guidOf(99));
});

for (const [name, as_of] of [
  ["nothing", ""],
  ["a word", "yesterday"],
  ["the future", "2099-01-01T00:00"],
  ["a time before the account", "2001-01-01T00:00"],
] as const) {
  test(`a restore as of ${name} says what is wrong and changes nothing`, async () => {
    const before = await user.changes();
    const page = await browser.submit("/history/restore", { as_of, exact: "1" });
    expect(page.status).toBe(400);
    expect(page.body).toContain('class="notice danger"');
    expect(await user.changes()).toEqual(before);
  });
}

test.if(ON_SQLITE)("podcasts that a restored backup lost come back from the history page", async () => {
  const { file } = await createBackup(server.app.config, server.clock);
  const outline = '<outline type="rss" text="Meta-Cast" xmlUrl="https://new.example/"/>';
  await browser.submit("/podcasts/import", { file: new File([`<opml><body>${outline}</body></opml>`], "list.opml") });
  await user.request("PATCH", `/subscriptions/${guidOf(3)}`, { is_subscribed: false });
  await server.app.close();
  await restoreBackup(server.app.config, server.clock, file);
  await server.open();
  browser = await signedIn(server, user);
  const page = await browser.open("/history");
  expect(page.body).toContain("lost 1, not in the backup");
  const ofLost = page.body.match(/href="([^"]*)">lost <bdi>Meta-Cast/)?.[1] ?? "";
  const historyOfLost = (await browser.open(ofLost)).body;
  expect(historyOfLost).toContain("Changes of <bdi>Meta-Cast</bdi>");
  expect(historyOfLost).toContain("lost 1, not in the backup");
  expect(historyOfLost).toContain("added 1<");
  const entries = [...page.body.matchAll(/<li>(restored the server.*?)<\/li>/g)].map(([, text = ""]) => text);
  expect(entries.map((text) => text.replace(/<[^>]*>/g, ""))).toEqual(["restored the server"]);
  const preview = await openPreview(page.body);
  expect(preview.body).toContain("Before these changes the list had 12 podcasts");
  expect(preview.body).toContain("1 podcast comes back, 11 are there already.");
  expect(preview.body).toContain("add <bdi>Meta-Cast</bdi>");
  expect(await subscribed()).toHaveLength(12);
  const done = await browser.submit("/history/restore", fieldsOf(preview.body, "/history/restore"));
  expect([done.path, done.status]).toEqual(["/history?restored=1", 200]);
  expect((await user.changes()).filter((item) => item.is_subscribed)).toHaveLength(13);
  expect((await browser.open("/podcasts")).body).toContain("Meta-Cast");
  const again = await browser.submit("/history/restore", fieldsOf(preview.body, "/history/restore"));
  expect(again.body).toContain("Nothing was missing.");
});

test("a restore page without a moment, or with one that the history doesn't reach, says so", async () => {
  const submit = (fields: Record<string, string>) => browser.submit("/history/restore", fields);
  expect((await submit({})).body).toContain("Enter a date and a time.");
  for (const before of ["x", "-1", ""]) expect((await submit({ before })).status).toBe(400);
  for (const ask of [submit, previewOf]) {
    const early = await ask({ before: "0" });
    expect([early.status, early.body]).toEqual([400, expect.stringContaining("There is no history of that time.")]);
    for (const as_of of ["", "yesterday"]) {
      const { status, body } = await ask({ as_of, zone: "0" });
      expect([status, body]).toEqual([400, expect.stringContaining("Enter a date and a time.")]);
    }
  }
  const page = await browser.open("/history/restore");
  expect(page.body).toContain(`The history begins <time datetime="${new Date(START).toISOString()}"`);
});

test("a preview that brings nothing back calls the list the same only if it is", async () => {
  const then = { as_of: "2026-01-01T00:30", zone: "0" };
  expect((await previewOf({ ...then, exact: "1" })).body).toContain("The list is the same now");
  await user.add("https://13.example/", guidOf(13));
  expect((await previewOf(then)).body).toContain("None of them is missing now: nothing to restore.");
  expect((await previewOf({ ...then, exact: "1" })).body).toContain("1 is unsubscribed");
});

test("a broken form puts nothing back", async () => {
  await wipe();
  const { body } = await browser.open("/podcasts");
  const fields = fieldsOf(body, "/history/put-back");
  for (const broken of [{ by: "{" }, { by: "null" }, { from: "x" }, { to: "-1" }]) {
    expect((await browser.submit("/history/put-back", { ...fields, ...broken })).status).toBe(400);
  }
  expect(await subscribed()).toEqual([]);
});

test("another user's history is not there", async () => {
  const bob = await server.user("bob");
  await bob.add("https://bobs.example/", guidOf(1));
  expect((await browser.open("/history")).body).not.toContain("bobs.example");
});

test("a session that can only read sees the history and can't put back", async () => {
  await wipe();
  const options = { label: "", scope: "read", expires_at: null } as const;
  const { token } = await issueToken(server.app, actAsUser(user.id), options);
  const reader = await signedIn(server, { name: "ann", token });
  const { body } = await reader.open("/history");
  expect(body).toContain("removed 12");
  expect(body).not.toContain("Put back<");
  const fields = { as_of: new Date(START + HOUR / 2).toISOString().slice(0, 16) };
  const restore = await reader.open("/history/restore");
  expect(restore.status).toBe(403);
  expect(restore.body).toContain("The token may only read");
  expect((await reader.submit("/history/restore", fields)).status).toBe(403);
});

test("names of apps and podcasts can't bring markup into the history", async () => {
  const options = { label: "<script>x</script>", scope: "write", expires_at: null } as const;
  const evil = server.as(user, (await issueToken(server.app, actAsUser(user.id), options)).token);
  await evil.add("https://a.example/<img>", guidOf(50));
  const { body } = await browser.open("/history");
  expect(body).not.toContain("<script>x");
  expect(body).not.toContain("<img>");
});

test("the history can be filtered by app and by podcast", async () => {
  await phone.request("PATCH", `/subscriptions/${guidOf(3)}`, { is_subscribed: false });
  await user.request("PATCH", `/subscriptions/${guidOf(4)}`, { is_subscribed: false });
  const key = phone.token.split("_")[1];
  const textOf = (body: string) => body.split('<ul class="rows">')[1] ?? "";
  const all = await browser.open("/history");
  expect(all.body).toContain(`<option value="${key}">AntennaPod, phone</option>`);
  expect(all.body).toContain(`href="/history?podcast=${guidOf(3)}"`);
  const byApp = await browser.open(`/history?by=${key}`);
  expect(byApp.body).toContain(`<option value="${key}" selected="">`);
  expect(textOf(byApp.body)).toContain("3.example");
  expect(textOf(byApp.body)).not.toContain("4.example");
  const ofPodcast = await browser.open(`/history?podcast=${guidOf(4).toUpperCase()}`);
  expect(ofPodcast.body).toContain("Changes of <bdi>4.example</bdi>");
  expect(textOf(ofPodcast.body)).toContain("removed 1");
  expect(textOf(ofPodcast.body)).toContain("added 1");
  expect(textOf(ofPodcast.body)).not.toContain("3.example");
  const both = await browser.open(`/history?podcast=${guidOf(3)}&by=${key}`);
  expect(textOf(both.body)).toContain("removed 1");
  expect(textOf(both.body)).not.toContain("added");
  for (const query of [`podcast=${guidOf(4)}&by=${key}`, `podcast=${guidOf(77)}`, "podcast=x", "by=nobody"]) {
    expect((await browser.open(`/history?${query}`)).body).toContain("No change matches.");
  }
});

test("two devices with one app are two choices, each with its own changes, in the order of names", async () => {
  await user.setPassword(PASSWORD);
  browser = await signedIn(server, user);
  await phone.add("https://phone.example/");
  for (const device of ["desktop", "laptop"]) {
    const headers = { ...basicAuth("ann", PASSWORD), "User-Agent": "gPodder/3.11.4" };
    const body = JSON.stringify({ add: [`https://${device}.example/`], remove: [] });
    await server.send("POST", `/api/2/subscriptions/ann/${device}.json`, { body, headers });
  }
  const { body } = await browser.open("/history");
  const choices = [...body.matchAll(/<option value="[^"]+"[^>]*>([^<]*)/g)].map(([, name]) => name);
  expect(choices).toEqual(["AntennaPod, phone", "gPodder on desktop", "gPodder on laptop", "test"]);
  for (const [device, other] of [
    ["laptop", "desktop"],
    ["desktop", "laptop"],
  ]) {
    const key = new RegExp(`<option value="([^"]*)">gPodder on ${device}</option>`).exec(body)?.[1];
    const chosen = (await browser.open(`/history?by=${key}`)).body.split('<ul class="rows">')[1];
    expect(chosen).toContain(`added <bdi>${device}.example</bdi>`);
    expect(chosen).not.toContain(`added <bdi>${other}.example</bdi>`);
  }
});

test("an app that is filtered by is not taken for another that is called as its device", async () => {
  await user.setPassword(PASSWORD);
  browser = await signedIn(server, user);
  const add = (password: string, device: string, feed_url: string) => {
    const headers = { ...basicAuth("ann", password), "User-Agent": "gPodder/3.11.4" };
    const body = JSON.stringify({ add: [feed_url], remove: [] });
    return server.send("POST", `/api/2/subscriptions/ann/${device}.json`, { body, headers });
  };
  await add(PASSWORD, "laptop", "https://by-password.example/");
  const options = { label: "laptop", scope: "write", expires_at: null } as const;
  const { token } = await issueToken(server.app, actAsUser(user.id), options);
  await add(token, "desktop", "https://by-label.example/");
  await add(phone.token, "laptop", "https://by-device.example/");
  const shown = (await browser.open("/history?by=laptop")).body;
  expect(shown.match(/by-\w+\.example/g)).toEqual(["by-password.example"]);
});

test("what another app removed since can't be put back in the history of one app, nor on an older page", async () => {
  const setSubscribed = (by: TestUser, is_subscribed: boolean) =>
    by.request("PATCH", `/subscriptions/${guidOf(3)}`, { is_subscribed });
  const ofPhone = `/history?by=${phone.token.split("_")[1]}`;
  await setSubscribed(phone, false);
  expect((await browser.open(ofPhone)).body).toContain("Put back<");
  await setSubscribed(user, true);
  const older = `/history?after=${server.clock.now() + 1}.0`;
  server.clock.advance(HOUR);
  await setSubscribed(user, false);
  for (const path of [ofPhone, older]) {
    const { body } = await browser.open(path);
    expect(body).toContain("removed 1");
    expect(body).not.toContain("Put back<");
  }
});

test("a choice calls an app by its name, also if it once said none", async () => {
  await user.setPassword(PASSWORD);
  browser = await signedIn(server, user);
  for (const agent of ["", "gPodder/3.11.4"]) {
    const headers = { ...basicAuth("ann", PASSWORD), "User-Agent": agent };
    const body = JSON.stringify({ add: [`https://${agent}x.example/`], remove: [] });
    await server.send("POST", "/api/2/subscriptions/ann/laptop.json", { body, headers });
  }
  const { body } = await browser.open("/history");
  expect(body).toContain('<option value="laptop">gPodder on laptop</option>');
});

test("the history of a podcast follows it to another guid and into a merged one", async () => {
  await user.request("PATCH", `/subscriptions/${guidOf(1)}`, { new_guid: guidOf(50) });
  await user.request("PATCH", `/subscriptions/${guidOf(2)}`, { new_guid: guidOf(50) });
  for (const guid of [guidOf(1), guidOf(50)]) {
    const { body } = await browser.open(`/history?podcast=${guid}`);
    expect(body).toContain("changed the id of 1");
    expect(body).toContain("merged 1");
  }
});

test("devices are called by their names", async () => {
  const actor = { ...actAsUser(user.id), kind: "token", id: phone.token.split("_")[1] ?? "", device: "id1" } as const;
  await saveDevice(server.app, actor, { id: "id1", caption: "Pixel" });
  const client = identifyClient(actor, appNamed("AntennaPod", "gpodder"));
  await uploadFeedChanges(server.app, { ...actor, label: "AntennaPod" }, client, {
    add: ["https://p.example/"],
    remove: [],
  });
  expect((await browser.open("/history")).body).toContain("AntennaPod on Pixel");
  const link = /href="(\/podcasts\/[0-9a-f-]{36})"/.exec((await browser.open("/podcasts?search=p.example")).body)?.[1];
  expect((await browser.open(link ?? "")).body).toContain("AntennaPod on Pixel");
});

test("“Keep it so” ends the banner for what was removed until then, and nothing else", async () => {
  await wipe();
  const { body } = await browser.open("/podcasts");
  const kept = await browser.submit("/history/keep", fieldsOf(body, "/history/keep"));
  expect(kept.body).not.toContain("removed 12 of 12");
  expect(await subscribed()).toEqual([]);
  server.clock.advance(2 * HOUR);
  for (let n = 1; n <= 12; n++) await user.request("PATCH", `/subscriptions/${guidOf(n)}`, { is_subscribed: true });
  await wipe();
  expect((await browser.open("/podcasts")).body).toContain("removed 12 of 12 podcasts");
});

test("a time that is still to come can't be kept, so a later removal is not hidden", async () => {
  await browser.submit("/history/keep", { to: "9999999999999" });
  await wipe();
  expect((await browser.open("/podcasts")).body).toContain("removed 12 of 12 podcasts");
});

test("“Put back” is there only while something is missing that no other app has removed since", async () => {
  await wipe();
  expect((await browser.open("/history")).body).toContain("Put back<");
  const { body } = await browser.open("/podcasts");
  const after = await browser.submit("/history/put-back", fieldsOf(body, "/history/put-back"));
  expect(after.body).toContain("12 podcasts are back.");
  expect(after.body).not.toContain("Put back<");
  await browser.submit(`/podcasts/${guidOf(3)}/unsubscribe`);
  expect((await browser.open("/history")).body.match(/Put back</g)).toHaveLength(1);
});

test("a restore offers the moments before podcasts were removed, with a preview of each", async () => {
  await wipe();
  const { body } = await browser.open("/history/restore");
  expect(body.replace(/<[^>]*>/g, "")).toContain("Before AntennaPod, phone removed 12");
  const preview = await openPreview(body);
  expect(preview.body).toContain("Before these changes the list had 12 podcasts");
  expect(preview.body).toContain("12 podcasts come back.");
  expect(preview.body).toContain("subscribe to <bdi>1.example</bdi>");
  expect(await subscribed()).toEqual([]);
});

test("an import from the command line is called by what it was", async () => {
  const actor = { ...actAsUser(user.id), label: "opml import" };
  await importFeeds(server.app, actor, [{ feed_url: "https://file.example/", title: null }], { dry_run: false });
  expect((await browser.open("/history")).body).toContain("podkeep (OPML file)");
});

test("what is put back in the history of one podcast is that podcast alone", async () => {
  const setSubscribed = (n: number, is_subscribed: boolean) =>
    phone.request("PATCH", `/subscriptions/${guidOf(n)}`, { is_subscribed });
  await setSubscribed(3, false);
  await setSubscribed(4, false);
  await setSubscribed(3, true);
  await setSubscribed(3, false);
  const { body } = await browser.open(`/history?podcast=${guidOf(3)}`);
  const after = await browser.submit("/history/put-back", fieldsOf(body, "/history/put-back"));
  expect(after.body).toContain("1 podcast is back.");
  expect(await subscribed()).not.toContain(guidOf(4));
  expect(await subscribed()).toContain(guidOf(3));
  await phone.remove(guidOf(3));
  await server.drain();
  const deleted = await browser.open(`/history?podcast=${guidOf(3)}`);
  await browser.submit("/history/put-back", fieldsOf(deleted.body, "/history/put-back"));
  expect(await subscribed()).toContain(guidOf(3));
});

test("a podcast that another app removed stays so when one that became part of it is put back", async () => {
  await phone.request("PATCH", `/subscriptions/${guidOf(3)}`, { is_subscribed: false });
  await phone.request("PATCH", `/subscriptions/${guidOf(5)}`, { is_subscribed: false });
  const { body } = await browser.open("/history");
  await user.request("PATCH", `/subscriptions/${guidOf(3)}`, { new_guid: guidOf(4) });
  await user.request("PATCH", `/subscriptions/${guidOf(4)}`, { is_subscribed: false });
  const after = await browser.submit("/history/put-back", fieldsOf(body, "/history/put-back"));
  expect(after.body).toContain("1 podcast is back.");
  expect(await subscribed()).toContain(guidOf(5));
  expect(await subscribed()).not.toContain(guidOf(4));
});
