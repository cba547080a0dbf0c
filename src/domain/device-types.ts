// What a device can be, by the gPodder API (https://gpoddernet.readthedocs.io/en/latest/api/reference/devices.html).

export const DEVICE_TYPES = ["desktop", "laptop", "mobile", "server", "other"] as const;
