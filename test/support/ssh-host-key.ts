/** A public key for targets whose endpoint nobody dials: of RFC 8032 §7.1, test 1. */
export const SSH_HOST_KEY =
  'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAINdamAGCsQq31Uv+08lkBzoO4XLz2qYjJa8CGmj3B1Ea';
