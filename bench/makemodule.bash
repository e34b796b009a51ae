mkdir mod; cd mod; printf 'module m\n\ngo 1.21\n' > go.mod; cat > main.go <<'END'
package main

import (
	"encoding/json"
	"fmt"
	"text/template"
)

func main() { fmt.Println(json.Valid(nil), template.New("x")) }
END
