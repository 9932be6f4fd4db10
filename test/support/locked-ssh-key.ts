/** Made by ssh-keygen for tests alone, with passphrase `secret` and four rounds. */
export const LOCKED = `-----BEGIN OPENSSH PRIVATE KEY-----
b3BlbnNzaC1rZXktdjEAAAAACmFlczI1Ni1jdHIAAAAGYmNyeXB0AAAAGAAAABCaUgEt2f
YOoMwc+KzoBrK9AAAABAAAAAEAAAAzAAAAC3NzaC1lZDI1NTE5AAAAIMcv3PpC9mWA2F61
1BrCpxI2E+ToyuWDD2PnoHcScqjsAAAAkHeODuvPFjSCNU8cqqRXwBFq5EW3sHwfEwhwMK
a+CrtCfLYjsRpFcXX1DIsaFUpuzD8/iZ1hBSQwk9H0itaCHxwhvSIbkBPppdJWhCInOJU8
txvJ8EWF0ojeHwu5z/d3TBWXPBnK1+QLbU/dtql5k+DV57Ml1XaaGZWt6QuXA7+ZE1LyRz
rWEGr4hmF456qKsg==
-----END OPENSSH PRIVATE KEY-----`;
