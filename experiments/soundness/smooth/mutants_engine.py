ENGINE = []
