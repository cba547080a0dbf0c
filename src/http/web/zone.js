// The zone of days in the history of listening.
// biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API needs https
document.cookie = `zone=${Intl.DateTimeFormat().resolvedOptions().timeZone}; path=/; max-age=31536000; samesite=lax`;
