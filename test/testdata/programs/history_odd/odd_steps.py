for turn in range(4):
    for i, n in enumerate(N):
        gone(n); make(n, (i + turn) % 6)
    os.rename(N[0], N[1] + b'2'); os.rename(N[2], N[0]); os.rename(N[1] + b'2', N[2])
    if turn == 2: os.mkdir(b'deep'); [os.rename(n, b'deep/' + n) for n in N[4:7]]; os.rename(b'deep', b'deeper'); [os.rename(b'deeper/' + n, n) for n in N[4:7]]
os.chmod(b'deeper', 0o500); gone(N[7]); make(N[7], 1)
