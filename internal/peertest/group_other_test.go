//go:build !unix

package peertest

import "os/exec"

func ownGroup(*exec.Cmd) {}

func killGroup(cmd *exec.Cmd) { cmd.Process.Kill() }

func ownSession(*exec.Cmd) {}
