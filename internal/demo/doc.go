// Package demo shows what Spillway does, on a fresh machine and without a network: a client, spillway run and a small
// server, each in a process of its own, over real pipes. It owns that server and the page that is printed.
package demo
