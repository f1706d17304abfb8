package client

import "testing"

func TestViewsOf(t *testing.T) {
	v, err := ViewsOf([]byte(`{"content":[{"type":"text","text":"a\u00e9"},{"type":"image","data":"AA==","mimeType":"image/png"},
		{"type":"resource","resource":{"uri":"x:y","text":"b"}}],"structuredContent": {"n": 1.0}}`))
	if err != nil || string(v.Text) != "aéb" || string(v.Structured) != `{"n":1.0}` {
		t.Errorf("got %q and %q, %v", v.Text, v.Structured, err)
	}
	v, err = ViewsOf([]byte(`{"structuredContent":null}`))
	if err != nil || v.Text != nil || string(v.Structured) != "null" {
		t.Errorf("got %q and %q, %v", v.Text, v.Structured, err)
	}
}
