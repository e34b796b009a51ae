carrel=$1
set -u
gate() { echo '{"tool_name":"Bash"}' | "$carrel" agent gate claude 2>&1; echo "gate $?"; }
gate
mkfifo a b
"$carrel" mcp --client claude <a >/dev/null & one=$!
"$carrel" mcp --client claude <b >/dev/null & two=$!
exec 3>a 4>b
until "$carrel" agent status claude --json | grep -q '"serving": 2'; do sleep 0.1; done
gate
kill -9 $one; wait $one
gate
exec 4>&-; wait $two
gate
"$carrel" agent heal
rm a b
