// Requests that wait to be written: each is in memory, also after its client went away.
import { afterEach, beforeEach, expect, test } from "bun:test";
import { type Answer, openTestApp, type TestApp, type TestUser } from "../support/app.ts";
import { basicAuth } from "../support/basic-auth.ts";

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
