package journal

import (
	"testing"
	"time"
)

func TestMoments(t *testing.T) {
	for _, text := range []string{
		"1901-12-13T20:45:52Z", "1969-12-31T23:59:59.999999999Z", "1970-01-01T00:00:00Z", "2026-11-27T12:00:00.5Z",
		"2262-04-11T23:47:16Z", "2262-04-12T00:00:00Z", "2300-01-01T00:00:00.000000001Z", "2446-05-10T22:38:55Z",
	} {
		want, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			t.Fatal(err)
		}
		if got := Moment(want.Unix()*1e9 + int64(want.Nanosecond())); !got.Equal(want) {
			t.Errorf("%s comes back as %s", text, got.UTC())
		}
	}
}
