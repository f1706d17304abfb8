package tokens

import (
	"fmt"
	"strings"
)

type textCase struct{ name, text string }

// cases are the texts whose counts stand in testdata/golden.txt.
func cases() []textCase {
	list := []textCase{
		{"empty", ""},
		{"a word", "hello"},
		{"a sentence", "Hello, world! This is a test of the tokenizer, isn't it?"},
		{"JSON compact", `{"total_count":276,"items":[{"id":9007199254740993,"full_name":"spillway-mcp/spillway","private":false,"html_url":"https://github.com/spillway-mcp/spillway"}]}`},
		{"JSON indented", "{\n  \"total_count\": 276,\n  \"items\": [\n    {\n      \"id\": 1,\n      \"n\": null\n    }\n  ]\n}\n"},
		{"JSON tabs", "{\n\t\"a\": [\n\t\t1,\n\t\t2\n\t]\n}"},
		{"JSON in JSON", `{"text":"{\"a\":\"b\\n\\u0041\"}"}`},
		{"numbers", "1 12 123 1234 12345 1234567890 3.14159 1e400 -0.5 0x1F 1,234,567"},
		{"numbers of other scripts", "٣٤٥٦ ५६७ Ⅷ ½ ²³ ①②③④ 𝟘𝟙𝟚𝟛"},
		{"contractions", "I'm you're he's we've they'd I'll don't"},
		{"contractions in upper case", "I'M YOU'RE HE'S WE'VE THEY'D I'LL DON'T 'LLama 'REd 'VEx 'Sx"},
		{"contractions cut short", "'s 'l 'r 'v 'ſ ' 'L 'R 'V a'l a'r a'v a'"},
		{"apostrophes", "''s '''t 'quoted' don''t rock'n'roll \u2019s it\u2019s"},
		{"camel case", "getHTTPResponseCode XMLHttpRequest iPhone ABCdef abcDEF aB Ab A b ǅungla ǅUNGLA"},
		{"letters after symbols", "/usr/bin $HOME #tag @name _x -y .z \"q\" (r) [s] <t> &amp; =u +v *w"},
		{"symbols", "!!! ... ??? ---- ==== ||| ^^^ ~~~ ``` }}]]))"},
		{"symbols and lines", "};\n};\r\n};\n\n\n)/\n//\n//// */\n/**/ !\n\r\n!"},
		{"slashes", "a//b ///c http://x.y/z// .//\n/ /\r\n/"},
		{"spaces", "a b  c   d    e     f          g"},
		{"spaces at both ends", "   a   "},
		{"spaces alone", "      "},
		{"one space", " "},
		{"tabs", "\ta\t\tb \t c\t d\t"},
		{"lines", "a\nb\n\nc\n\n\nd\n"},
		{"lines and spaces", "a \n b  \n  c\n \n d \n\n  e\n   "},
		{"lines at the end", "a\n  \n   "},
		{"lines and tabs at the end", "a\t\n\t \n \t"},
		{"lone CR", "a\rb\r\rc \r d\r"},
		{"CR LF", "a\r\nb\r\n\r\nc\r\n"},
		{"LF CR", "a\n\rb\n\r\n\rc"},
		{"mixed line ends", "x\r\n\n\r \n\r\ny \r\n  \n z\v\f\n"},
		{"other spaces", "a\u00a0b\u2003c\u3000d\u2028e\u2029f\u0085g\u200bh\u180ei\u205fj\u202fk"},
		{"other spaces in runs", "a\u00a0\u00a0b \u3000 c\u2028\n\u2029d\u00a0 \u00a0"},
		{"control characters", "\x00\x01\x02 \x1b[31mred\x1b[0m \x7f\x1c\x1d\x1e\x1f a\x00b\x00\x00"},
		{"byte order mark", "\ufeffusing System;\n\ufeff\n\ufeffnamespace a\ufeff\ufeff#\ufeff"},
		{"byte order marks", "\ufeff\ufeff\ufeff //\ufeff/*\n\ufeff1"},
		{"Latin", "Füße, naïve café, Übergrößenträger, Çırağan, Łódź, ßẞ, ŉ ĳ"},
		{"combining marks", "e\u0301 n\u0303a \u0301 \u0301a !\u0301 \u0301\u0302B \u0301BC 1\u0301 \u0301' \u0301's \u0301\n"},
		{"marks before upper case", "\u0301ABC \u0301ABc \u0301\u0302ABC A\u0301B\u0302C a\u0301B !\u0301ABC"},
		{"Greek and Cyrillic", "Καλημέρα κόσμε ΑΒΓ Привет, мир! ЁЖИК ёжик"},
		{"Chinese", "你好，世界！今天天气怎么样？我们去北京。"},
		{"Chinese and Latin", "使用JSON格式A和B返回ABC日DEF日 日A 日Ab 日a日B"},
		{"Japanese", "こんにちは、世界！お元気ですか？カタカナーｶﾀｶﾅ々〆"},
		{"Korean", "안녕하세요, 세계! 오늘 날씨가 어때요?"},
		{"Arabic and Hebrew", "مرحبا بالعالم، كيف حالك؟ שָׁלוֹם עוֹלָם"},
		{"Indic and Thai", "नमस्ते दुनिया வணக்கம் สวัสดีชาวโลก မင်္ဂလာပါ"},
		{"emoji", "👋🌍 🎉🎉🎉 ok👍 👍ok ❤️ ☺"},
		{"emoji joined", "👨‍👩‍👧‍👦 🏳️‍🌈 👩🏽‍💻 🇩🇪🇫🇷 1️⃣"},
		{"letters beyond the BMP", "𝒜𝒷𝒸 𐐀𐐨 𠀀𠀁 𓀀"},
		{"letters of Unicode 16 and 17", "\u1C89 \U00010D50\U00010D70 \uA7CB\uA7DA \U00016EA0\U00016EBB \U000323B0"},
		{"unassigned and private", "\ue000\uf8ff \U000F0000 \u0378 \U0010FFFF \ufdd0"},
		{"modifier letters", "ʰA ʰa Aʰ aʰB ªº ːˑ ᴬᴮ"},
		{"special tokens", "<|endoftext|> <|fim_prefix|><|im_start|>user<|im_end|> <|endofprompt|>"},
		{"code", "func (d *Doc) Reset(src []byte, lim Limits) error {\n\tif len(src) == 0 {\n\t\treturn nil // why\n\t}\n}\n"},
		{"markdown", "# Title\n\n- one\n- two\n\n| a | b |\n| --- | --- |\n\n```go\nx := 1\n```\n"},
		{"base64", "MDEwOlJlcG9zaXRvcnkxMzA3NDg5MTU= iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="},
		{"hex and UUID", "9f2c41d08a3b 123e4567-e89b-12d3-a456-426614174000 DEADBEEFcafebabe"},
		{"one letter", strings.Repeat("a", 500)},
		{"one letter, upper", strings.Repeat("A", 333)},
		{"one ideograph", strings.Repeat("日", 100)},
		{"one symbol", strings.Repeat("=", 300)},
		{"many spaces", strings.Repeat(" ", 400) + "x"},
		{"many lines", strings.Repeat("\n", 200)},
		{"many marks", strings.Repeat("\u0301", 60)},
		{"many digits", strings.Repeat("1234567", 40)},
		{"a long word", strings.Repeat("antidisestablishmentarianism", 6)},
		{"invalid UTF-8", "a\xffb \xff\xfe \xc3( \xe2\x82 \xf0\x9f\x98 \xed\xa0\x80\xed\xb0\x80 \xc0\xaf \xf4\x90\x80\x80 \x80\x80z\xf0"},
		{"invalid UTF-8 in a word", "caf\xe9 na\xefve \xe4\xb8\xad\xe4\xb8"},
	}
	var all strings.Builder
	for _, c := range list {
		all.WriteString(c.text)
	}
	list = append(list, textCase{"all of these", all.String()})
	for _, n := range []int{0, 3, 40, 400} {
		list = append(list, textCase{fmt.Sprintf("a page of %d hits", n), string(searchPage(n))})
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
