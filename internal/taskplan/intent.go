package taskplan

import (
	"slices"
	"strings"
	"sync"
	"unicode"
)

// Kind is what a task is taken for.
type Kind string

// Kinds of tasks, in the order that decides where words weigh the same: a kind
// that asks for more approvals comes first, and what removes something last.
const (
	KindGrocery  Kind = "grocery"
	KindShopping Kind = "shopping"
	KindAppQA    Kind = "app_qa"
	KindBrowser  Kind = "browser"
	KindObserve  Kind = "observe"
	KindCleanup  Kind = "cleanup"
	KindUnknown  Kind = "unknown"
)

var kindOrder = []Kind{KindGrocery, KindShopping, KindAppQA, KindBrowser, KindObserve, KindCleanup}

// family is a kind as hosts tell it: shopping is a task in a browser.
func (k Kind) family() string {
	switch k {
	case KindGrocery, KindShopping, KindBrowser:
		return "browser_task"
	}
	return string(k)
}

func (k Kind) shops() bool { return k == KindGrocery || k == KindShopping }

// phrase is one row of the word table: words that stand together, what they
// speak for, and how much.
type phrase struct {
	text   string
	kind   Kind // "" speaks for nothing, and keeps its words from others
	weight int
	verb   bool   // says what is to be done, at the front of a sentence
	sets   string // a fact
}

// Weights of words. A verb at the front says what is to be done, the rest what
// with: "watch the test" is to watch.
const (
	weak   = 2
	medium = 4
	strong = 6
	lead   = 2 // on top, for a verb that the sentence begins with
)

// Weights of inputs that speak for a kind.
const (
	voteProject  = 7 // beats a word in the middle, and no verb at the front
	voteShopping = 9
	voteBrowser  = 5
	voteAddress  = 3
)

// vote is an input that speaks for a kind.
type vote struct {
	kind   Kind
	weight int
	reason string
}

// reading is what an intent was taken for.
type reading struct {
	kind  Kind
	by    string // the words or the input that decided
	facts []string
}

// read weighs what an intent says: of each kind its heaviest phrase counts, so
// that saying one thing in many words is no louder.
func read(intent string, votes []vote) reading {
	best := make(map[Kind]vote)
	count := func(v vote) {
		if v.kind != "" && v.weight > best[v.kind].weight {
			best[v.kind] = v
		}
	}
	var facts []string
	for _, f := range find(words(intent)) {
		w := f.weight
		if f.leads && f.verb {
			w += lead
		}
		count(vote{f.kind, w, `"` + f.text + `"`})
		if f.sets != "" && !slices.Contains(facts, f.sets) {
			facts = append(facts, f.sets)
		}
	}
	for _, v := range votes {
		count(v)
	}
	out := reading{kind: KindUnknown, facts: facts}
	heaviest := 0
	for _, k := range kindOrder {
		if v := best[k]; v.weight > heaviest {
			heaviest, out.kind, out.by = v.weight, k, v.reason
		}
	}
	// Groceries are what is bought, not what is done: "buy" decides, and they
	// say of what kind the shopping is.
	if out.kind == KindShopping && best[KindGrocery].weight > 0 {
		out.kind = KindGrocery
	}
	return out
}

// words are an intent's, in small letters, without what stands between them.
func words(intent string) []string {
	if len(intent) > maxIntent {
		intent = intent[:maxIntent]
	}
	return strings.FieldsFunc(strings.ToLower(intent), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
}

type found struct {
	phrase
	leads bool
}

// find goes through the words once. The longest phrase at a place takes its
// words; a word after a negation is not asked for.
func find(words []string) []found {
	var out []found
	table := phrasesByWord()
	begun := false
	for i := 0; i < len(words); {
		p, n := longest(table[words[i]], words[i:])
		switch {
		case n > 0:
			out = append(out, found{p, !begun})
			begun = true
			i += n
		case negations()[words[i]]:
			i += 2
		default:
			begun = begun || !fillers()[words[i]]
			i++
		}
	}
	return out
}

func longest(rows []row, words []string) (phrase, int) {
	for _, r := range rows {
		if len(r.words) <= len(words) && slices.Equal(r.words, words[:len(r.words)]) {
			return r.phrase, len(r.words)
		}
	}
	return phrase{}, 0
}

type row struct {
	phrase
	words []string
}

// phrasesByWord is the table by first words, the longest phrases first.
var phrasesByWord = sync.OnceValue(func() map[string][]row {
	out := make(map[string][]row)
	for _, p := range phrases() {
		w := words(p.text)
		out[w[0]] = append(out[w[0]], row{p, w})
	}
	for _, rows := range out {
		slices.SortStableFunc(rows, func(a, b row) int { return len(b.words) - len(a.words) })
	}
	return out
})
