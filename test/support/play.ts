// A play as apps upload it.

/** The action of apps that speak gPodder or Nextcloud: the first minute of ten. @param more what is otherwise */
export const playOf = (podcast: string, episode: string, more: object = {}) => ({
  podcast,
  episode,
  action: "play",
  timestamp: "2026-01-01T00:00:00",
  started: 0,
  position: 60,
  total: 600,
  ...more,
});
