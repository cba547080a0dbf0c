// What episodes are called by their URLs.
import { expect, test } from "bun:test";
import { readableEpisode } from "../../src/domain/readable-url.ts";

test.each([
  ["https://a.example/shows/12-The-long_way.mp3?token=secret", "12 The long way"],
  ["https://a.example/Caf%C3%A9%20am%20See.m4a", "Café am See"],
  ["https://a.example/%E0%A4%A.mp3", "%E0%A4%A"],
  ["https://a.example/e/Episode-7/stream.mp3", "Episode 7 stream"],
  ["https://www.a.example/", "a.example"],
  ["https://www.a.example/---", "a.example"],
  ["no URL", "no URL"],
])("the episode %s is called %s", (url, name) => {
  expect(readableEpisode(url)).toBe(name);
});
