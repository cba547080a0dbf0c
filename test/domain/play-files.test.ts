// Files of plays: what spreadsheets and programs read.
import { expect, test } from "bun:test";
import { type WrittenPlay, writeCsv, writeJson } from "../../src/domain/play-files.ts";

const play: WrittenPlay = {
  episode: 7,
  begun_at: 0,
  ended_at: 60_000,
  feed_url: "https://a.example/rss",
  title: "A",
  guid: null,
  episode_title: "One",
  episode_url: "https://a.example/1.mp3",
  started: 0,
  position: 60,
  total: null,
  published_at: Date.parse("2026-01-31T08:00:00Z"),
  duration: 3240,
  by: { kind: "token", id: "x", label: "AntennaPod", device: "phone" },
};

async function* once(...plays: WrittenPlay[]) {
  yield plays;
  yield [];
}
const csvOf = async (...plays: WrittenPlay[]) => (await Array.fromAsync(writeCsv(once(...plays)))).join("");
const jsonOf = async (...plays: WrittenPlay[]) =>
  JSON.parse((await Array.fromAsync(writeJson(once(...plays)))).join(""));

test("a CSV file has a head and a row for each stretch, as RFC 4180 says", async () => {
  expect(await csvOf(play)).toBe(
    "begun,ended,podcast,feed_url,episode,episode_id,episode_url,guid,from,to,total,app,device,published,duration\r\n" +
      "1970-01-01T00:00:00.000Z,1970-01-01T00:01:00.000Z,A,https://a.example/rss,One,7,https://a.example/1.mp3,,0,60,," +
      "AntennaPod,phone,2026-01-31T08:00:00.000Z,3240\r\n",
  );
  expect(await csvOf({ ...play, title: 'a "b", c\nd' })).toContain(',"a ""b"", c\nd",');
  expect(await csvOf()).toEndWith("duration\r\n");
});

test.each(["=1+1", "+1", "-1", "@SUM(1)", "\tx", "\r=1", "\n=1"])(
  "a title that begins as the formula %p stays text in a spreadsheet",
  async (title) => {
    expect(await csvOf({ ...play, title })).toMatch(/Z,"?'/);
    expect((await jsonOf({ ...play, title }))[0].podcast).toBe(title);
  },
);

test.each(["A; =1+1", "A;=1+1", 'A;"=1+1"', "A\n-1", "A\r\n-1", "A\t@SUM(1)", "A;=1;=2"])(
  "within the title %j, a formula stays text in a spreadsheet that separates cells by semicolons or tabs",
  async (title) => {
    const [, row = ""] = (await csvOf({ ...play, title })).split(/\r\n(?=1970)/);
    expect(row.split(/[;\t\r\n]/).filter((cell) => /^["\s]*[=+@-]/.test(cell))).toEqual([]);
    expect((await jsonOf({ ...play, title }))[0].podcast).toBe(title);
  },
);

test.each(["A; B", "A\tB", "A\nB", "A\rB"])(
  "the title %j stays one cell in a spreadsheet that separates cells by all signs",
  async (title) => {
    expect(await csvOf({ ...play, title })).toContain(`,"${title}",`);
  },
);

test("the day of an episode and the app stay empty if they are not known, and the page is podkeep", async () => {
  const by = { ...play.by, label: "" };
  expect((await jsonOf({ ...play, published_at: null, by }))[0]).toMatchObject({ published: null, app: null });
  expect(await csvOf({ ...play, published_at: null, by })).toEndWith(",60,,,phone,,3240\r\n");
  expect((await jsonOf({ ...play, by: { ...by, kind: "page" } }))[0].app).toBe("podkeep");
});

test("a JSON file is an array, also of no plays", async () => {
  expect(await jsonOf()).toEqual([]);
  expect(await jsonOf(play, { ...play, episode: 8 })).toMatchObject([
    { episode_id: 7, podcast: "A", from: 0, to: 60, app: "AntennaPod", device: "phone" },
    { episode_id: 8 },
  ]);
});
