// Floods of requests, of which each is in memory, also after its client went away.
import { afterEach, beforeEach, expect, test } from "bun:test";
import { createLogger } from "../../src/log.ts";
import { listen } from "../../src/server/listen.ts";
import { type Answer, openTestApp, type TestApp, type TestUser } from "../support/app.ts";
import { basicAuth } from "../support/basic-auth.ts";
import { until } from "../support/patience.ts";
import { playOf } from "../support/play.ts";
import { signedIn } from "./browser.ts";

const FLOOD = 1500;

let server: TestApp;
let ann: TestUser;
let bob: TestUser;

beforeEach(async () => {
  server = await openTestApp();
  [ann, bob] = [await server.user("ann"), await server.user("bob")];
});
afterEach(() => server.close());

const repeat = (send: () => Promise<Answer>) => Array.from({ length: FLOOD }, send);
const upload = ({ name, token }: TestUser) =>
  server.send("POST", `/api/2/subscriptions/${name}/phone.json`, {
    headers: basicAuth(name, token),
    body: JSON.stringify({ add: ["https://feeds.example/one"], remove: [] }),
  });
const startLogin = () => server.send("POST", "/index.php/login/v2");

test("an app that sends more uploads than can wait is told to come again, and other users' are stored", async () => {
  await Promise.all([upload(ann), upload(bob)]);
  const flood = repeat(() => upload(ann));
  const other = await upload(bob);
  const refused = (await Promise.all(flood)).find(({ status }) => status !== 200);
  expect(refused?.status).toBe(503);
  expect(refused?.headers.get("Retry-After")).toBe("5");
  expect([other.status, (await upload(ann)).status]).toEqual([200, 200]);
});

test("strangers who start more logins than can wait keep no user from storing a change", async () => {
  await startLogin();
  const flood = repeat(startLogin);
  const other = await upload(bob);
  const statuses = new Set((await Promise.all(flood)).map(({ status }) => status));
  expect([...statuses].sort()).toEqual([200, 503]);
  expect([other.status, (await startLogin()).status]).toEqual([200, 200]);
});

const WHOLE = [
  ["GET", "/api/2/subscriptions/USER/phone.json"],
  ["GET", "/subscriptions/USER.json"],
  ["GET", "/subscriptions/USER/phone.opml"],
  ["GET", "/index.php/apps/gpoddersync/subscriptions"],
  ["GET", "/podcasts"],
  ["GET", "/podcasts/podkeep.opml"],
  ["GET", "/history"],
  ["GET", "/history/restore?as_of=2020-01-01"],
  ["POST", "/history/restore"],
  ["POST", "/history/put-back"],
  ["GET", "/listening/year"],
] as const;

test.each(WHOLE)("%s %s: a user who asks a hundred times at once keeps no other user waiting", async (method, path) => {
  const answered: string[] = [];
  const asker = async ({ name, token }: TestUser) => {
    const [cookie = []] = (await signedIn(server, { name, token })).cookies;
    const headers = { ...basicAuth(name, token), Cookie: cookie.join("=") };
    return () => server.send(method, path.replace("USER", name), { headers }).then(() => answered.push(name));
  };
  const [askAsAnn, askAsBob] = [await asker(ann), await asker(bob)];
  await Promise.all([...Array.from({ length: 100 }, askAsAnn), askAsBob()]);
  expect(answered.indexOf("bob")).toBeLessThan(50);
});

test("the plays that an app asked for are not read once it has gone, and is going to ask again", async () => {
  const lines: { method: string; status: number }[] = [];
  const log = createLogger("debug", (line) => void lines.push(JSON.parse(JSON.stringify(line))));
  const logged = await openTestApp({}, { log });
  const { name, token } = await logged.user();
  const headers = basicAuth(name, token);
  const play = playOf("https://a.example/rss", "https://a.example/1.mp3", {
    device: "phone",
    position: 60,
    total: 600,
  });
  await logged.send("POST", `/api/2/episodes/${name}.json`, { headers, body: JSON.stringify([play]) });
  lines.length = 0;
  let begun = false;
  const web = await listen({ host: "127.0.0.1", port: 0, flag: "--port" }, async (request, connection) => {
    begun = true;
    await until(() => request.signal.aborted);
    return logged.http.fetch(request, connection);
  });
  const socket = await Bun.connect({ hostname: "127.0.0.1", port: web.port ?? 0, socket: { data() {} } });
  socket.write(
    `GET /api/2/episodes/${name}.json HTTP/1.1\r\nHost: podkeep.test\r\nAuthorization: ${headers.Authorization}\r\n\r\n`,
  );
  await until(() => begun);
  socket.terminate();
  await until(() => lines.length > 0);
  expect(lines).toMatchObject([{ method: "GET", status: 499 }]);
  await web.stop(true);
  await logged.close();
});
