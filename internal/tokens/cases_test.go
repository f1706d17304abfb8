package tokens

import (
	"fmt"
	"strings"
)

type textCase struct {
	name, text string
	newest     bool // has letters that only Unicode 17 has
}

// cases are the texts whose counts stand in testdata/golden.txt.
func cases() []textCase {
	list := []textCase{
		{name: "empty", text: ""},
		{name: "a word", text: "hello"},
		{name: "a sentence", text: "Hello, world! This is a test of the tokenizer, isn't it?"},
		{name: "JSON compact", text: `{"total_count":276,"items":[{"id":9007199254740993,"full_name":"spillway-mcp/spillway","private":false,"html_url":"https://github.com/spillway-mcp/spillway"}]}`},
		{name: "JSON indented", text: "{\n  \"total_count\": 276,\n  \"items\": [\n    {\n      \"id\": 1,\n      \"n\": null\n    }\n  ]\n}\n"},
		{name: "JSON tabs", text: "{\n\t\"a\": [\n\t\t1,\n\t\t2\n\t]\n}"},
		{name: "JSON in JSON", text: `{"text":"{\"a\":\"b\\n\\u0041\"}"}`},
		{name: "numbers", text: "1 12 123 1234 12345 1234567890 3.14159 1e400 -0.5 0x1F 1,234,567"},
		{name: "numbers of other scripts", text: "٣٤٥٦ ५६७ Ⅷ ½ ²³ ①②③④ 𝟘𝟙𝟚𝟛"},
		{name: "contractions", text: "I'm you're he's we've they'd I'll don't"},
		{name: "contractions in upper case", text: "I'M YOU'RE HE'S WE'VE THEY'D I'LL DON'T 'LLama 'REd 'VEx 'Sx"},
		{name: "contractions cut short", text: "'s 'l 'r 'v 'ſ ' 'L 'R 'V a'l a'r a'v a'"},
		{name: "apostrophes", text: "''s '''t 'quoted' don''t rock'n'roll \u2019s it\u2019s"},
		{name: "camel case", text: "getHTTPResponseCode XMLHttpRequest iPhone ABCdef abcDEF aB Ab A b ǅungla ǅUNGLA"},
		{name: "letters after symbols", text: "/usr/bin $HOME #tag @name _x -y .z \"q\" (r) [s] <t> &amp; =u +v *w"},
		{name: "symbols", text: "!!! ... ??? ---- ==== ||| ^^^ ~~~ ``` }}]]))"},
		{name: "symbols and lines", text: "};\n};\r\n};\n\n\n)/\n//\n//// */\n/**/ !\n\r\n!"},
		{name: "slashes", text: "a//b ///c http://x.y/z// .//\n/ /\r\n/"},
		{name: "spaces", text: "a b  c   d    e     f          g"},
		{name: "spaces at both ends", text: "   a   "},
		{name: "spaces alone", text: "      "},
		{name: "one space", text: " "},
		{name: "tabs", text: "\ta\t\tb \t c\t d\t"},
		{name: "lines", text: "a\nb\n\nc\n\n\nd\n"},
		{name: "lines and spaces", text: "a \n b  \n  c\n \n d \n\n  e\n   "},
		{name: "lines at the end", text: "a\n  \n   "},
		{name: "lines and tabs at the end", text: "a\t\n\t \n \t"},
		{name: "lone CR", text: "a\rb\r\rc \r d\r"},
		{name: "CR LF", text: "a\r\nb\r\n\r\nc\r\n"},
		{name: "LF CR", text: "a\n\rb\n\r\n\rc"},
		{name: "mixed line ends", text: "x\r\n\n\r \n\r\ny \r\n  \n z\v\f\n"},
		{name: "other spaces", text: "a\u00a0b\u2003c\u3000d\u2028e\u2029f\u0085g\u200bh\u180ei\u205fj\u202fk"},
		{name: "other spaces in runs", text: "a\u00a0\u00a0b \u3000 c\u2028\n\u2029d\u00a0 \u00a0"},
		{name: "control characters", text: "\x00\x01\x02 \x1b[31mred\x1b[0m \x7f\x1c\x1d\x1e\x1f a\x00b\x00\x00"},
		{name: "byte order mark", text: "\ufeffusing System;\n\ufeff\n\ufeffnamespace a\ufeff\ufeff#\ufeff"},
		{name: "byte order marks", text: "\ufeff\ufeff\ufeff //\ufeff/*\n\ufeff1"},
		{name: "Latin", text: "Füße, naïve café, Übergrößenträger, Çırağan, Łódź, ßẞ, ŉ ĳ"},
		{name: "combining marks", text: "e\u0301 n\u0303a \u0301 \u0301a !\u0301 \u0301\u0302B \u0301BC 1\u0301 \u0301' \u0301's \u0301\n"},
		{name: "marks before upper case", text: "\u0301ABC \u0301ABc \u0301\u0302ABC A\u0301B\u0302C a\u0301B !\u0301ABC"},
		{name: "Greek and Cyrillic", text: "Καλημέρα κόσμε ΑΒΓ Привет, мир! ЁЖИК ёжик"},
		{name: "Chinese", text: "你好，世界！今天天气怎么样？我们去北京。"},
		{name: "Chinese and Latin", text: "使用JSON格式A和B返回ABC日DEF日 日A 日Ab 日a日B"},
		{name: "Japanese", text: "こんにちは、世界！お元気ですか？カタカナーｶﾀｶﾅ々〆"},
		{name: "Korean", text: "안녕하세요, 세계! 오늘 날씨가 어때요?"},
		{name: "Arabic and Hebrew", text: "مرحبا بالعالم، كيف حالك؟ שָׁלוֹם עוֹלָם"},
		{name: "Indic and Thai", text: "नमस्ते दुनिया வணக்கம் สวัสดีชาวโลก မင်္ဂလာပါ"},
		{name: "emoji", text: "👋🌍 🎉🎉🎉 ok👍 👍ok ❤️ ☺"},
		{name: "emoji joined", text: "👨‍👩‍👧‍👦 🏳️‍🌈 👩🏽‍💻 🇩🇪🇫🇷 1️⃣"},
		{name: "letters beyond the BMP", text: "𝒜𝒷𝒸 𐐀𐐨 𠀀𠀁 𓀀"},
		{newest: true, name: "letters of Unicode 16 and 17", text: "\u1C89 \U00010D50\U00010D70 \uA7CB\uA7DA \U00016EA0\U00016EBB \U000323B0"},
		{name: "unassigned and private", text: "\ue000\uf8ff \U000F0000 \u0378 \U0010FFFF \ufdd0"},
		{name: "modifier letters", text: "ʰA ʰa Aʰ aʰB ªº ːˑ ᴬᴮ"},
		{name: "special tokens", text: "<|endoftext|> <|fim_prefix|><|im_start|>user<|im_end|> <|endofprompt|>"},
		{name: "code", text: "func (d *Doc) Reset(src []byte, lim Limits) error {\n\tif len(src) == 0 {\n\t\treturn nil // why\n\t}\n}\n"},
		{name: "markdown", text: "# Title\n\n- one\n- two\n\n| a | b |\n| --- | --- |\n\n```go\nx := 1\n```\n"},
		{name: "base64", text: "MDEwOlJlcG9zaXRvcnkxMzA3NDg5MTU= iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="},
		{name: "hex and UUID", text: "9f2c41d08a3b 123e4567-e89b-12d3-a456-426614174000 DEADBEEFcafebabe"},
		{name: "one letter", text: strings.Repeat("a", 500)},
		{name: "one letter, upper", text: strings.Repeat("A", 333)},
		{name: "one ideograph", text: strings.Repeat("日", 100)},
		{name: "one symbol", text: strings.Repeat("=", 300)},
		{name: "many spaces", text: strings.Repeat(" ", 400) + "x"},
		{name: "many lines", text: strings.Repeat("\n", 200)},
		{name: "many marks", text: strings.Repeat("\u0301", 60)},
		{name: "many digits", text: strings.Repeat("1234567", 40)},
		{name: "a long word", text: strings.Repeat("antidisestablishmentarianism", 6)},
		{name: "invalid UTF-8", text: "a\xffb \xff\xfe \xc3( \xe2\x82 \xf0\x9f\x98 \xed\xa0\x80\xed\xb0\x80 \xc0\xaf \xf4\x90\x80\x80 \x80\x80z\xf0"},
		{name: "invalid UTF-8 in a word", text: "caf\xe9 na\xefve \xe4\xb8\xad\xe4\xb8"},
	}
	var all strings.Builder
	for _, c := range list {
		all.WriteString(c.text)
	}
	list = append(list, textCase{name: "all of these", text: all.String(), newest: true})
	for _, n := range []int{0, 3, 40, 400} {
		list = append(list, textCase{name: fmt.Sprintf("a page of %d hits", n), text: string(searchPage(n))})
	}
	return list
}

// searchPage is JSON in the shape of a code search, for goldens and benchmarks.
func searchPage(hits int) []byte {
	var b strings.Builder
	seed := uint64(42)
	next := func() uint64 { seed ^= seed << 13; seed ^= seed >> 7; seed ^= seed << 17; return seed }
	words := strings.Fields("server client handler reduce proxy stash parse token ledger schema config widget factory util test main index readme core api")
	word := func() string { return words[next()%uint64(len(words))] }
	fmt.Fprintf(&b, `{"total_count":%d,"incomplete_results":false,"items":[`, hits)
	for i := range hits {
		if i > 0 {
			b.WriteByte(',')
		}
		repo := word() + "-" + word()
		path := word() + "/" + word() + "/" + word() + ".go"
		fmt.Fprintf(&b, `{"name":"%s.go","path":"%s","sha":"%016x%016x%08x","url":"https://api.github.com/repositories/%d/contents/%s?ref=%016x","repository":{"id":%d,"node_id":"MDEwOlJlcG9zaXRvcnk%dQ==","full_name":"%s/%s","private":%t,"owner":{"login":"%s","id":%d,"avatar_url":"https://avatars.githubusercontent.com/u/%d?v=4","gravatar_id":""},"description":"A %s for the %s, with %s and %s. \u2014 it's fast!"`,
			word(), path, next(), next(), uint32(next()), next()%1e9, path, next(), next()%1e9, next()%1e9, word(), repo, i%3 == 0, word(), next()%1e7, next()%1e7, word(), word(), word(), word())
		for _, k := range strings.Fields("forks keys{/key_id} collaborators{/collaborator} teams hooks issue_events{/number} events assignees{/user} branches{/branch} tags git_blobs{/sha} git_tags{/sha} git_refs{/sha} git_trees{/sha} statuses{/sha} languages stargazers contributors subscribers subscription commits{/sha} comments{/number} contents/{+path} compare/{base}...{head} merges archive downloads issues{/number} pulls{/number} milestones{/number} notifications{?since,all,participating} labels{/name} releases{/id} deployments") {
			name, _, _ := strings.Cut(k, "{")
			fmt.Fprintf(&b, `,"%s_url":"https://api.github.com/repos/%s/%s"`, strings.Trim(name, "/"), repo, k)
		}
		fmt.Fprintf(&b, `},"score":%d.%d}`, next()%10, next()%1000)
	}
	b.WriteString("]}")
	return []byte(b.String())
}
