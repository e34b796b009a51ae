echo "$(type -p hx)"
cd sub && hx -c 'echo "$PWD $HOME $0 $*"' 'a b' $'c\nd' '' $'\377' | od -c | tail -n +1 | md5sum
hx -c 'echo "$PWD"'
NODE_ENV=test npm_config_x=1 SECRET=1 LD_PRELOAD=/x LC_TIME=C hx -c 'echo "$NODE_ENV $npm_config_x [$SECRET$LD_PRELOAD$OUTSIDE_SECRET] $LC_TIME $CARREL"'
echo hello | hx -c 'read x; echo "got $x"'
hx -c 'cat; echo end' </dev/null
hx -c 'cat' <f
hx -c 'echo to a file' >../out; cat ../out
hx -c 'echo one; echo two >&2' 2>../err; cat ../err
hx -c 'exit 42'; echo $?
hx -c 'kill -TERM $$'; echo $?
tac -b f; tac f; echo $?
nosuch; echo $?
cd /tmp; hx -c true; echo $?
ls /run/carrel/shims; touch /run/carrel/shims/x 2>&1; true
