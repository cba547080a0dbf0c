// Histories that are played before the random ones: past failures, and rare cases.
import type { Command, Step } from "./commands.ts";
import { computedGuid, feedKey } from "./feeds.ts";

const steps = (...commands: Command[]): [Step[]] => [commands.map((command) => ({ user: 0, command }))];
const a = "https://a.test/feed";
const b = "https://b.test";
const [one, two, three, four] = ["1", "2", "3", "4"].map((digit) =>
  "00000000-0000-4000-8000-000000000000".replaceAll("0", digit),
) as [string, string, string, string];

/** Arguments of the property. */
export const examples: [Step[]][] = [
  // Two guids are retired after the subscription that gets them has its timestamp: all three are one change.
  steps(
    { type: "post", items: [{ feed_url: a, guid: one }] },
    {
      type: "post",
      items: [
        { feed_url: b, guid: two },
        { feed_url: a, guid: three },
        { feed_url: a, guid: four },
        { feed_url: a, guid: two },
      ],
    },
    { type: "list", since: 1, format: 0, page: 1, perPage: 1 },
    { type: "list", since: 1, format: 0, page: 2, perPage: 1 },
    { type: "patch", guid: two, changes: { is_subscribed: false } },
    { type: "poll", replica: 0, pages: 4 },
  ),
  // The first reads of a newly opened database come at the same time.
  steps(
    { type: "post", items: [{ feed_url: a }] },
    { type: "restart" },
    {
      type: "burst",
      writes: [
        { type: "post", items: [{ feed_url: b }] },
        { type: "delete", guid: one },
      ],
      replica: 0,
    },
  ),
  // Two orders explain the responses of the burst: the deleted subscription came again and was merged, or was merged.
  steps(
    {
      type: "post",
      items: [{ feed_url: a }, { feed_url: "https://e.test", guid: two }, { feed_url: "http://b.test", guid: one }],
    },
    {
      type: "burst",
      writes: [
        { type: "post", items: [{ feed_url: a, guid: two }, { feed_url: "https://e.test" }] },
        { type: "delete", guid: computedGuid(feedKey(a)) },
        {
          type: "post",
          items: [
            { feed_url: "https://c.test", guid: one },
            { feed_url: "https://e.test" },
            { feed_url: "https://e.test", guid: one },
          ],
        },
      ],
      replica: 0,
    },
    { type: "delete", guid: one },
    { type: "drain" },
  ),
  // Subscribing again by PATCH cancels a deletion.
  steps(
    { type: "post", items: [{ feed_url: a, guid: one }] },
    { type: "patch", guid: one, changes: { is_subscribed: false } },
    { type: "delete", guid: one },
    { type: "patch", guid: one, changes: { is_subscribed: true } },
    { type: "deletion", id: 1 },
    { type: "drain" },
  ),
  // An unknown URL whose computed guid a subscription has: first live, then deleted.
  steps(
    { type: "post", items: [{ feed_url: b, guid: computedGuid(feedKey(a)) }] },
    { type: "post", items: [{ feed_url: a }] },
    { type: "delete", guid: computedGuid(feedKey(a)) },
    { type: "drain" },
    { type: "post", items: [{ feed_url: a }] },
  ),
  // A deletion that was never tried does not wait for the clock.
  steps(
    { type: "post", items: [{ feed_url: a, guid: one }] },
    { type: "delete", guid: one },
    { type: "clock", by: -1 },
    { type: "drain" },
  ),
];
