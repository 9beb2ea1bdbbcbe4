//! Cholesky factors of small dense matrices. A few hundred trials need no linear-algebra library.

/// The lower factor L of a symmetric positive definite matrix A = L·Lᵀ.
#[derive(Clone, Debug)]
pub struct Cholesky {
    n: usize,
    lower: Vec<f64>,
}

impl Cholesky {
    /// Factors a matrix given by rows; `None` if it is not positive definite.
    pub fn of(mut a: Vec<f64>, n: usize) -> Option<Self> {
        for j in 0..n {
            for i in j..n {
                let (row_i, row_j) = (i * n, j * n);
                let sum = a[row_i + j] - dot(&a[row_i..row_i + j], &a[row_j..row_j + j]);
                if i == j {
                    if sum.is_nan() || sum <= 1e-12 {
                        return None;
                    }
                    a[row_i + j] = sum.sqrt();
                } else {
                    a[row_i + j] = sum / a[row_j + j];
                }
            }
        }
        Some(Self { n, lower: a })
    }

    /// L⁻¹·b
    pub fn forward(&self, b: &mut [f64]) {
        for i in 0..self.n {
            let row = &self.lower[i * self.n..i * self.n + i + 1];
            b[i] = (b[i] - dot(&row[..i], &b[..i])) / row[i];
        }
    }

    /// A⁻¹·b
    pub fn solve(&self, b: &[f64]) -> Vec<f64> {
        let mut x = b.to_vec();
        self.forward(&mut x);
        for i in (0..self.n).rev() {
            x[i] /= self.lower[i * self.n + i];
            let value = x[i];
            for (j, below) in x[..i].iter_mut().enumerate() {
                *below -= self.lower[i * self.n + j] * value;
            }
        }
        x
    }

    /// The diagonal of A⁻¹.
    pub fn inverse_diagonal(&self) -> Vec<f64> {
        let n = self.n;
        let mut diagonal = vec![0.0; n];
        let mut column = vec![0.0; n];
        for i in 0..n {
            // Column i of L⁻¹ begins at row i.
            column[i..].fill(0.0);
            column[i] = 1.0;
            for j in i..n {
                let row = &self.lower[j * n..j * n + j + 1];
                column[j] = (column[j] - dot(&row[i..j], &column[i..j])) / row[j];
            }
            diagonal[i] = column[i..].iter().map(|x| x * x).sum();
        }
        diagonal
    }

    /// ln |A|
    pub fn log_determinant(&self) -> f64 {
        (0..self.n).map(|i| 2.0 * self.lower[i * self.n + i].ln()).sum()
    }
}

/// A dot product in eight partial sums, which the compiler keeps in vector registers.
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    let (mut left, mut right) = (a.chunks_exact(8), b.chunks_exact(8));
    for (x, y) in left.by_ref().zip(right.by_ref()) {
        for lane in 0..8 {
            sums[lane] += x[lane] * y[lane];
        }
    }
    let rest: f64 = left.remainder().iter().zip(right.remainder()).map(|(x, y)| x * y).sum();
    sums.iter().sum::<f64>() + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use stats::random::Random;

    #[test]
    fn solves_what_it_factored() {
        let (n, mut random) = (12, Random::new(3));
        let b: Vec<f64> = (0..n * n).map(|_| random.normal()).collect();
        let mut a = vec![0.0; n * n];
        for i in 0..n {
            for j in 0..n {
                a[i * n + j] = (0..n).map(|k| b[i * n + k] * b[j * n + k]).sum::<f64>();
            }
            a[i * n + i] += 0.1;
        }
        let x: Vec<f64> = (0..n).map(|_| random.normal()).collect();
        let y: Vec<f64> = (0..n).map(|i| (0..n).map(|j| a[i * n + j] * x[j]).sum()).collect();
        let found = Cholesky::of(a.clone(), n).unwrap().solve(&y);
        assert!(found.iter().zip(&x).all(|(a, b)| (a - b).abs() < 1e-6), "{found:?} {x:?}");
        a[0] = -1.0;
        assert!(Cholesky::of(a, n).is_none());
        let diagonal = Cholesky::of(vec![2.0, 0.0, 0.0, 8.0], 2).unwrap();
        assert!((diagonal.log_determinant() - 16f64.ln()).abs() < 1e-12);
    }
}
