// Which wall times the timestamps of changes follow.
import { expect, test } from "bun:test";
import { latestFor } from "../src/clock.ts";
import { openTestApp } from "./support/app.ts";
import { basicAuth } from "./support/basic-auth.ts";

const YEAR = 365 * 24 * 60 * 60 * 1000;

test("timestamps follow clocks until ten years after the build", () => {
  expect(latestFor(Date.parse("2027-01-01"))).toBe(Date.parse("2027-01-01") + 10 * YEAR);
});

test("a build that was made while the clock was in 1970 gives present timestamps", () => {
  expect(latestFor(0)).toBeGreaterThan(Date.parse("2035-01-01"));
});

test("a build that was made while the clock was in 2096 gives timestamps of 32 bits", () => {
  expect(latestFor(Date.UTC(2096, 0)) / 1000).toBeLessThan(2 ** 31);
});

test("a server that runs from source gives timestamps of 32 bits, even if its clock is in 2096", async () => {
  const server = await openTestApp();
  try {
    server.clock.set(Date.parse("2096-01-01"));
    const { name, token } = await server.user();
    const body = JSON.stringify({ add: ["https://a.example/feed"], remove: [] });
    const path = `/api/2/subscriptions/${name}/phone.json`;
    const answer = await server.send("POST", path, { headers: basicAuth(name, token), body });
    expect(answer.body.timestamp).toBeLessThan(2 ** 31);
    const [row] = await server.sql("select subscription_changed from subscriptions");
    expect(row?.["subscription_changed"]).toSatisfy(Number.isInteger);
  } finally {
    await server.close();
  }
});
